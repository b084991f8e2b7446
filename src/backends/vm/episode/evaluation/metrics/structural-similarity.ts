const WINDOW = 8;
const STRIDE = 4;
const C1 = (0.01 * 255) ** 2;
const C2 = (0.03 * 255) ** 2;

/**
 * The mean structural similarity (SSIM, Wang et al. 2004) of two grey pictures of one size, over windows of 8x8 pixels; what it
 * may fall below 0 by is cut off.
 */
export function structuralSimilarity(
  left: Uint8Array,
  right: Uint8Array,
  { width, height }: { readonly width: number; readonly height: number },
): number {
  let sum = 0;
  let windows = 0;
  for (let y = 0; y === 0 || y + WINDOW <= height; y += STRIDE) {
    for (let x = 0; x === 0 || x + WINDOW <= width; x += STRIDE) {
      sum += ofWindow(left, right, {
        x,
        y,
        width,
        right: Math.min(width, x + WINDOW),
        bottom: Math.min(height, y + WINDOW),
      });
      windows += 1;
    }
  }
  return Math.min(1, Math.max(0, sum / windows));
}

interface Window {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly right: number;
  readonly bottom: number;
}

function ofWindow(left: Uint8Array, right: Uint8Array, window: Window): number {
  const count = (window.right - window.x) * (window.bottom - window.y);
  let [a, b, aa, bb, ab] = [0, 0, 0, 0, 0];
  for (let y = window.y; y < window.bottom; y += 1) {
    for (let x = window.x; x < window.right; x += 1) {
      const [p, q] = [left[y * window.width + x] ?? 0, right[y * window.width + x] ?? 0];
      a += p;
      b += q;
      aa += p * p;
      bb += q * q;
      ab += p * q;
    }
  }
  const [meanA, meanB] = [a / count, b / count];
  const [varianceA, varianceB] = [aa / count - meanA * meanA, bb / count - meanB * meanB];
  const covariance = ab / count - meanA * meanB;
  return (
    ((2 * meanA * meanB + C1) * (2 * covariance + C2)) /
    ((meanA * meanA + meanB * meanB + C1) * (varianceA + varianceB + C2))
  );
}
