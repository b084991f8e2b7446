;; Sums over rows of floats, four places at a time, and what makes columns orthonormal. row-kernels.ts has it assembled.
(module
  (memory (export "memory") 1)

  ;; targets[rows[i]] += weights[i] * source; a row has $size bytes.
  (func (export "scatter")
    (param $source i32) (param $rows i32) (param $weights i32) (param $count i32) (param $targets i32) (param $size i32)
    (local $from i32) (local $to i32) (local $end i32) (local $weight v128)
    (local.set $end (i32.add (local.get $source) (local.get $size)))
    (block $done
      (loop $entry
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $to (i32.add (local.get $targets) (i32.mul (i32.load (local.get $rows)) (local.get $size))))
        (local.set $weight (v128.load32_splat (local.get $weights)))
        (local.set $from (local.get $source))
        (loop $place
          (v128.store
            (local.get $to)
            (f32x4.add (v128.load (local.get $to)) (f32x4.mul (local.get $weight) (v128.load (local.get $from)))))
          (local.set $to (i32.add (local.get $to) (i32.const 16)))
          (local.set $from (i32.add (local.get $from) (i32.const 16)))
          (br_if $place (i32.lt_u (local.get $from) (local.get $end))))
        (local.set $rows (i32.add (local.get $rows) (i32.const 4)))
        (local.set $weights (i32.add (local.get $weights) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $entry))))

  ;; target += weights[i] * sources[rows[i]]
  (func (export "gather")
    (param $target i32) (param $rows i32) (param $weights i32) (param $count i32) (param $sources i32) (param $size i32)
    (local $from i32) (local $to i32) (local $end i32) (local $weight v128)
    (local.set $end (i32.add (local.get $target) (local.get $size)))
    (block $done
      (loop $entry
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $from (i32.add (local.get $sources) (i32.mul (i32.load (local.get $rows)) (local.get $size))))
        (local.set $weight (v128.load32_splat (local.get $weights)))
        (local.set $to (local.get $target))
        (loop $place
          (v128.store
            (local.get $to)
            (f32x4.add (v128.load (local.get $to)) (f32x4.mul (local.get $weight) (v128.load (local.get $from)))))
          (local.set $to (i32.add (local.get $to) (i32.const 16)))
          (local.set $from (i32.add (local.get $from) (i32.const 16)))
          (br_if $place (i32.lt_u (local.get $to) (local.get $end))))
        (local.set $rows (i32.add (local.get $rows) (i32.const 4)))
        (local.set $weights (i32.add (local.get $weights) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $entry))))

  ;; Widens a row of $size floats; $end is where it ends.
  (func $widen (param $row i32) (param $end i32) (param $wide i32)
    (loop $place
      (v128.store (local.get $wide) (f64x2.promote_low_f32x4 (v128.load64_zero (local.get $row))))
      (local.set $row (i32.add (local.get $row) (i32.const 8)))
      (local.set $wide (i32.add (local.get $wide) (i32.const 16)))
      (br_if $place (i32.lt_u (local.get $row) (local.get $end)))))

  ;; products[i][j] += row[i] * row[j] for every row and all j >= i; $size is places in a row, products are doubles.
  (func (export "gram") (param $row i32) (param $count i32) (param $size i32) (param $wide i32) (param $products i32)
    (local $at i32) (local $from i32) (local $to i32) (local $end i32) (local $stride i32) (local $factor v128) (local $line i32)
    (local.set $stride (i32.shl (local.get $size) (i32.const 3)))
    (local.set $end (i32.add (local.get $wide) (local.get $stride)))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (call $widen
          (local.get $row)
          (i32.add (local.get $row) (i32.shl (local.get $size) (i32.const 2)))
          (local.get $wide))
        (local.set $at (local.get $wide))
        (local.set $line (local.get $products))
        (loop $column
          (local.set $factor (v128.load64_splat (local.get $at)))
          ;; Doubles go in twos: from an even place on, so that one below the diagonal may be written, too.
          (local.set $from
            (i32.add (local.get $wide) (i32.and (i32.sub (local.get $at) (local.get $wide)) (i32.const -16))))
          (local.set $to (i32.add (local.get $line) (i32.sub (local.get $from) (local.get $wide))))
          (loop $place
            (v128.store
              (local.get $to)
              (f64x2.add (v128.load (local.get $to)) (f64x2.mul (local.get $factor) (v128.load (local.get $from)))))
            (local.set $to (i32.add (local.get $to) (i32.const 16)))
            (local.set $from (i32.add (local.get $from) (i32.const 16)))
            (br_if $place (i32.lt_u (local.get $from) (local.get $end))))
          (local.set $line (i32.add (local.get $line) (local.get $stride)))
          (local.set $at (i32.add (local.get $at) (i32.const 8)))
          (br_if $column (i32.lt_u (local.get $at) (local.get $end))))
        (local.set $row (i32.add (local.get $row) (i32.shl (local.get $size) (i32.const 2))))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next))))

  ;; Every row becomes the one whose product with an upper triangle it was. $upper has the triangle above its diagonal and zeros
  ;; elsewhere, $scales what to multiply by in place of dividing by the diagonal.
  (func (export "solve")
    (param $row i32) (param $count i32) (param $size i32) (param $wide i32) (param $upper i32) (param $scales i32)
    (local $at i32) (local $from i32) (local $to i32) (local $end i32) (local $stride i32) (local $factor v128) (local $line i32)
    (local $scale i32) (local $value f64)
    (local.set $stride (i32.shl (local.get $size) (i32.const 3)))
    (local.set $end (i32.add (local.get $wide) (local.get $stride)))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (call $widen
          (local.get $row)
          (i32.add (local.get $row) (i32.shl (local.get $size) (i32.const 2)))
          (local.get $wide))
        (local.set $at (local.get $wide))
        (local.set $line (local.get $upper))
        (local.set $scale (local.get $scales))
        (loop $column
          (local.set $value (f64.mul (f64.load (local.get $at)) (f64.load (local.get $scale))))
          (f32.store (local.get $row) (f32.demote_f64 (local.get $value)))
          (local.set $factor (f64x2.splat (local.get $value)))
          (local.set $to
            (i32.add (local.get $wide) (i32.and (i32.sub (local.get $at) (local.get $wide)) (i32.const -16))))
          (local.set $from (i32.add (local.get $line) (i32.sub (local.get $to) (local.get $wide))))
          (loop $place
            (v128.store
              (local.get $to)
              (f64x2.sub (v128.load (local.get $to)) (f64x2.mul (local.get $factor) (v128.load (local.get $from)))))
            (local.set $to (i32.add (local.get $to) (i32.const 16)))
            (local.set $from (i32.add (local.get $from) (i32.const 16)))
            (br_if $place (i32.lt_u (local.get $to) (local.get $end))))
          (local.set $line (i32.add (local.get $line) (local.get $stride)))
          (local.set $row (i32.add (local.get $row) (i32.const 4)))
          (local.set $scale (i32.add (local.get $scale) (i32.const 8)))
          (local.set $at (i32.add (local.get $at) (i32.const 8)))
          (br_if $column (i32.lt_u (local.get $at) (local.get $end))))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))))
