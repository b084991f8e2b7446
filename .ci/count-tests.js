// Reads vitest's JSON reports, of the run and, where there was one, of the second try of what had failed in it.
// Prints "passed failed skipped", then a line for each failure: "failed FILE > NAME", or "second FILE > NAME" where the second try passed.
// `--files` prints the files with failures instead, for that second try.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

const [flag, ...rest] = process.argv.slice(2);
const onlyFiles = flag === "--files";
const [first, second] = (onlyFiles ? rest : [flag, ...rest]).map(read);

function read(path) {
  if (path === undefined || !existsSync(path)) return undefined;
  const text = readFileSync(path, "utf8");
  return text === "" ? undefined : JSON.parse(text);
}

/** The names of the tests with a status; a file that could not be run counts as one. */
function names(report, status) {
  return report.testResults.flatMap(({ name, status: fileStatus, assertionResults }) => {
    const file = relative(process.cwd(), name);
    if (assertionResults.length === 0) return fileStatus === status ? [file] : [];
    return assertionResults.filter((test) => test.status === status).map((test) => `${file} > ${test.fullName}`);
  });
}

const failed = names(first, "failed");
if (onlyFiles) {
  console.log([...new Set(failed.map((name) => name.split(" > ")[0]))].join("\n"));
} else {
  const passedThen = new Set(second === undefined ? [] : names(second, "passed"));
  const saved = failed.filter((name) => passedThen.has(name));
  const counts = [
    first.numPassedTests + saved.length,
    failed.length - saved.length,
    first.numPendingTests + first.numTodoTests,
  ];
  console.log(counts.join(" "));
  for (const name of failed) console.log(`${passedThen.has(name) ? "second" : "failed"} ${name}`);
}
