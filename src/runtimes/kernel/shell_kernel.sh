# Runs the files that the supervisor names on fd 8, one a line ("execution path"), in this one shell, and answers
# "execution status". An interrupt returns from the file, so that variables survive a timeout.
trap 'return 130 2>/dev/null' INT
while IFS=' ' read -r -u 8 __toolyard_x __toolyard_file; do
  . "$__toolyard_file" </dev/null
  printf '%s %s\n' "$__toolyard_x" "$?" >&8
done
