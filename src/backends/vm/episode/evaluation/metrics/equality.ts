/** How JSON values are compared. */
export interface EqualityOptions {
  /** The most that two numbers may differ. */
  readonly tolerance?: number | undefined;
  readonly ignoreCase?: boolean | undefined;
  /** Lists are equal when they hold the same in any order. */
  readonly ignoreOrder?: boolean | undefined;
}

/** Whether two JSON values are the same; objects may have their keys in any order. */
export function isEqual(left: unknown, right: unknown, options: EqualityOptions = {}): boolean {
  if (typeof left === "number" && typeof right === "number") {
    return left === right || Math.abs(left - right) <= (options.tolerance ?? 0);
  }
  if (typeof left === "string" && typeof right === "string") {
    return left === right || (options.ignoreCase === true && left.toLowerCase() === right.toLowerCase());
  }
  if (Array.isArray(left) && Array.isArray(right)) return areListsEqual(left, right, options);
  if (!isRecord(left) || !isRecord(right)) return left === right;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && isEqual(left[key], right[key], options));
}

function areListsEqual(left: readonly unknown[], right: readonly unknown[], options: EqualityOptions): boolean {
  if (left.length !== right.length) return false;
  if (options.ignoreOrder !== true) return left.every((item, index) => isEqual(item, right[index], options));
  const rest = [...right];
  return left.every((item) => {
    const at = rest.findIndex((other) => isEqual(item, other, options));
    if (at === -1) return false;
    rest.splice(at, 1);
    return true;
  });
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
