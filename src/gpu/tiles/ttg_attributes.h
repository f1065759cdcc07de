#pragma once
#include "gpu/ttg/ttg_attributes.h"
