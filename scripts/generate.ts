import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CHART_README, withValues } from "./chart-values.ts";
import { DASHBOARDS_FOLDER, dashboards, dashboardText } from "./dashboards.ts";
import { root, runTool, runTools } from "./tool.ts";

const folder = join(root, "proto");
const generation = { command: "buf", args: ["generate"], cwd: "proto" };
// The options that say what a resource is are generated themselves. While a standard service is out of date this may fail.
await runTool(generation);
const { generatedModules, handWrittenFiles, presentServices, standardServices } = await import(
  "./standard-services.ts"
);
const files = await handWrittenFiles();
const services = standardServices(files);
for (const path of presentServices()) if (!services.has(path)) await rm(join(folder, path));
for (const [path, text] of services) await writeFile(join(folder, path), text);
await runTools([generation]);
for (const [path, text] of generatedModules(files)) await writeFile(join(folder, path), text);
for (const [name, shown] of Object.entries(dashboards))
  await writeFile(join(root, DASHBOARDS_FOLDER, name), dashboardText(shown));
// It names all processes: with them comes what was generated just now.
const { NATS_PERMISSIONS_FILE, natsPermissionsFile } = await import("./nats-permissions.ts");
await writeFile(join(root, NATS_PERMISSIONS_FILE), natsPermissionsFile());
const { OPENAPI_FILE, openApiText } = await import("./openapi-file.ts");
await writeFile(join(root, OPENAPI_FILE), openApiText());
const { K6_ROUTES_FILE, k6RoutesText } = await import("./k6-routes.ts");
await writeFile(join(root, K6_ROUTES_FILE), k6RoutesText());
const { WIRED_FILES } = await import("./wiring.ts");
for (const { path, wired } of WIRED_FILES)
  await writeFile(join(root, path), wired(await readFile(join(root, path), "utf8")));
const { README, withRoutes } = await import("./routes-table.ts");
await writeFile(README, withRoutes(await readFile(README, "utf8")));
await writeFile(CHART_README, withValues(await readFile(CHART_README, "utf8")));
