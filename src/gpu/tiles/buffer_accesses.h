#pragma once
#include "gpu/ttg/buffer_accesses.h"
