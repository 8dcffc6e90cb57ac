import { runTools } from "./tool.ts";

await runTools([{ command: "buf", args: ["generate"], cwd: "proto" }]);
