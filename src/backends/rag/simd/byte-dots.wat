;; Dot products of one vector of signed bytes with many, sixteen places at a time. byte-dots.ts has it assembled.
(module
  (memory (export "memory") 1)
  (func (export "dots") (param $query i32) (param $vectors i32) (param $count i32) (param $size i32) (param $out i32)
    (local $end i32) (local $at i32) (local $left v128) (local $right v128) (local $sum v128)
    (local.set $end (i32.add (local.get $query) (local.get $size)))
    (block $done
      (loop $vector
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $sum (v128.const i32x4 0 0 0 0))
        (local.set $at (local.get $query))
        (loop $place
          (local.set $left (v128.load (local.get $at)))
          (local.set $right (v128.load (local.get $vectors)))
          (local.set $sum
            (i32x4.add
              (local.get $sum)
              (i32x4.add
                (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_s (local.get $left)) (i16x8.extend_low_i8x16_s (local.get $right)))
                (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_s (local.get $left)) (i16x8.extend_high_i8x16_s (local.get $right))))))
          (local.set $vectors (i32.add (local.get $vectors) (i32.const 16)))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br_if $place (i32.lt_u (local.get $at) (local.get $end))))
        (i32.store
          (local.get $out)
          (i32.add
            (i32.add (i32x4.extract_lane 0 (local.get $sum)) (i32x4.extract_lane 1 (local.get $sum)))
            (i32.add (i32x4.extract_lane 2 (local.get $sum)) (i32x4.extract_lane 3 (local.get $sum)))))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $vector)))))
