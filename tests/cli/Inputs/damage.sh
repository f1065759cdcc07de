#!/bin/sh
# Spoils every entry of a cache folder.
for entry in "$1"/*/*.twc; do
  echo junk > "$entry"
done
