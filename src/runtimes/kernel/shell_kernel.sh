# Runs the code in fd 9 in this one shell whenever fd 8 names an execution, and answers "execution status". An interrupt
# returns from the code, so that variables survive a timeout.
trap 'return 130 2>/dev/null' INT
while IFS= read -r -u 8 __toolyard_x; do
  . /dev/fd/9 </dev/null
  printf '%s %s\n' "$__toolyard_x" "$?" >&8
done
