// Makes JSON of values of user code, and says what JSON could not hold.
const MAX_LOSSY = 100;
const MAX_PATH = 200;

const isObject = (value) => typeof value === "object" && value !== null;

/** Returns the value as JSON holds it, whether it was too large, and `path: what` for each part that JSON cannot hold. */
export function toJson(value, limit) {
  if (value === undefined) return [null, false, []];
  const lossy = [];
  const note = (path, what) => {
    if (lossy.length < MAX_LOSSY) lossy.push(`${path.slice(0, MAX_PATH)}: ${what}`);
  };
  const paths = new Map();
  // `this` is what holds the value: the path to it was noted when it was met itself.
  function replace(key, item) {
    const holder = paths.get(this);
    const path = holder === undefined ? "$" : Array.isArray(this) ? `${holder}[${key}]` : `${holder}.${key}`;
    const plain = toPlain(item, path, note);
    if (isObject(plain)) paths.set(plain, path);
    return plain;
  }
  try {
    const json = JSON.stringify(value, replace);
    if (json === undefined) return [null, false, lossy];
    return json.length > limit ? [null, true, []] : [JSON.parse(json), false, lossy];
  } catch (error) {
    return [
      null,
      false,
      [`$: ${/circular/i.test(String(error?.message)) ? "a cycle" : "it cannot be written as JSON"}`],
    ];
  }
}

function toPlain(item, path, note) {
  switch (typeof item) {
    case "number":
      if (!Number.isFinite(item)) note(path, String(item));
      return item;
    case "bigint":
      note(path, "a bigint, as text");
      return String(item);
    case "function":
    case "symbol":
      note(path, typeof item);
      return null;
    case "object":
      break;
    default:
      return item;
  }
  if (item instanceof Map || item instanceof Set) {
    note(path, item instanceof Map ? "Map" : "Set");
    return [...item];
  }
  if (item instanceof Error) {
    note(path, item.constructor.name);
    return { name: item.name, message: item.message };
  }
  if (ArrayBuffer.isView(item) && "length" in item) return Array.from(item);
  return item;
}
