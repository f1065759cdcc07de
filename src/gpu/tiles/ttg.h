#pragma once
#include "gpu/ttg/ttg.h"
