#pragma once
#include "gpu/ttg/tile_equivalence.h"
