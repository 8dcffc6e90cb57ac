import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleOf, bundlePrograms, programs } from "./bundle.ts";
import { writeAppFolder } from "./images/app-folder.ts";
import { VERSION } from "./images/product-images.ts";

/** `--apps DIR`: a folder for each program as well, with all that it needs but Node. */
const { values } = parseArgs({ options: { apps: { type: "string" } } });

const metafile = await bundlePrograms();
for (const program of programs) {
  const bundle = bundleOf(program.entry);
  console.log(`${program.name.padEnd(10)} ${bundle}`);
  if (values.apps)
    await writeAppFolder({ program, bundle, metafile, version: VERSION }, join(values.apps, program.name));
}
