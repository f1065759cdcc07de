#pragma once
#include "gpu/ttg/demanded_extent.h"
