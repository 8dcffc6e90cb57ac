import { bundleOf, bundleProcesses } from "./bundle.ts";
import { processes } from "./processes.ts";

await bundleProcesses();
for (const { name, entry } of processes) console.log(`${name.padEnd(10)} ${bundleOf(entry)}`);
