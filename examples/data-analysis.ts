// A data-analysis session: files in, pandas and matplotlib, a figure out as an image. It needs an image with both, such as
// toolyard/code (`toolyard images build code`); without one it computes in plain Python, and says that no plot was drawn.
// Run it with `npx node examples/data-analysis.ts`.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "toolyard";

const IMAGE = "toolyard/code:latest";
const SALES =
  "month,sales\n" + [120, 135, 160, 152, 190, 230].map((sales, index) => `${index + 1},${sales}\n`).join("");

await using sandbox = await Sandbox.open();

/** A session in the large image where there is one, else in whatever there is. */
async function openSession(): Promise<void> {
  try {
    await sandbox.createSession("code", { runtime: "docker", image: IMAGE });
  } catch {
    await sandbox.createSession("code");
  }
}

await openSession();
const info = await sandbox.execute("sandbox:info");
console.log(`runs in ${info.runtime}${info.image === null ? "" : `, image ${info.image}`}`);
if (!info.abilities.includes("files")) {
  console.log("this runtime has no files: install bubblewrap, or a Docker Engine, for this example");
  process.exit(0);
}

await sandbox.execute("file:write", { path: "sales.csv", content: SALES });
const plotted = await sandbox.execute("code:run", {
  language: "python",
  code: `
import pandas as pd
import matplotlib.pyplot as plt
sales = pd.read_csv("sales.csv", index_col="month")
sales.plot(marker="o", title="Sales")
plt.show()
sales.describe()`,
});

if (plotted.error === null) {
  console.log(plotted.text);
  const image = plotted.results.find((shown) => shown.image !== undefined)?.image;
  if (image === undefined) throw new Error("the figure did not come back");
  const path = join(await mkdtemp(join(tmpdir(), "toolyard-example-")), "sales.png");
  await writeFile(path, Buffer.from(image.base64, "base64"));
  console.log(`the plot, ${image.media_type}, is in ${path}`);
} else {
  console.log(`no plot here: ${plotted.error.name}: ${plotted.error.message}`);
  const computed = await sandbox.execute("code:run", {
    language: "python",
    code: `
import csv, statistics
numbers = [int(row["sales"]) for row in csv.DictReader(open("sales.csv"))]
{"count": len(numbers), "mean": statistics.mean(numbers), "max": max(numbers)}`,
  });
  console.log("in plain Python:", computed.result);
}
