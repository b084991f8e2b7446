/** How a point is moved: `x' = a·x + c·y + e`, `y' = b·x + d·y + f`. */
export type Matrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

/** Leaves every point where it is. */
export const UNIT: Matrix = [1, 0, 0, 1, 0, 0];

/** What moves as `right` does, and then as `left` does; `right` comes from a PDF, whose missing numbers move nothing. */
export function multiply(left: Matrix, right: unknown): Matrix {
  const numbers =
    ArrayBuffer.isView(right) || Array.isArray(right) ? Array.from(right as ArrayLike<unknown>, Number) : [];
  const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = numbers;
  return [
    left[0] * a + left[2] * b,
    left[1] * a + left[3] * b,
    left[0] * c + left[2] * d,
    left[1] * c + left[3] * d,
    left[0] * e + left[2] * f + left[4],
    left[1] * e + left[3] * f + left[5],
  ];
}

export function move([a, b, c, d, e, f]: Matrix, x: number, y: number): readonly [x: number, y: number] {
  return [a * x + c * y + e, b * x + d * y + f];
}
