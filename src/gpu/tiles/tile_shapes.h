#pragma once
#include "gpu/ttg/tile_shapes.h"
