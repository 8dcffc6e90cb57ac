import { globSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createFileRegistry,
  type DescFile,
  type DescMessage,
  fromBinary,
  getOption,
  hasOption,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { resource as resourceOption } from "@tidings/proto/tidings/api/v1/options";
import { snakeCase } from "@tidings/runtime/snake-case";
import { root, runTool } from "./tool.ts";

const proto = join(root, "proto");

/** The files of standard services that are there, below `proto`. */
export function presentServices(): string[] {
  return globSync("tidings/**/*_service.proto", { cwd: proto }).sort();
}

/**
 * The standard service of each resource (AIP-131 to AIP-135, 231 to 235) as the text of a .proto file, by its path below
 * `proto`. A message that the author of the resource declares under a name of these is used in its place.
 */
export async function standardServices(): Promise<Map<string, string>> {
  const files = await handWrittenFiles();
  const services = new Map<string, string>();
  for (const file of files)
    for (const message of file.messages)
      if (hasOption(message, resourceOption) && !isServedByHand(message, files))
        services.set(`${file.name}_service.proto`, fileOf(message, files));
  return services;
}

async function handWrittenFiles(): Promise<DescFile[]> {
  const image = join(tmpdir(), `tidings-${process.pid}.binpb`);
  const excluded = presentServices().flatMap((path) => ["--exclude-path", path]);
  const args = ["build", ...excluded, "--output", image];
  const { ok, output } = await runTool({ command: "buf", args, cwd: "proto" });
  if (!ok) throw new Error(output);
  try {
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(image)));
    return [...registry.files].filter(({ name }) => name.startsWith("tidings/"));
  } finally {
    await rm(image, { force: true });
  }
}

function isServedByHand(message: DescMessage, files: DescFile[]): boolean {
  return servicesOf(message).some((name) =>
    files.some(({ services }) =>
      services.some(({ typeName }) => typeName === `${packageOf(message)}.${name}`),
    ),
  );
}

function servicesOf(message: DescMessage): string[] {
  const { services } = getOption(message, resourceOption);
  return services.length > 0 ? services : [`${message.name}Service`];
}

function packageOf({ file }: DescMessage): string {
  return file.proto.package;
}

function fileOf(message: DescMessage, files: DescFile[]): string {
  const { permission, permissionByRow, plural } = getOption(message, resourceOption);
  const { name } = message;
  const [item, items] = [snakeCase(name), snakeCase(plural)];
  const declared = new Set(
    files
      .filter((file) => file.proto.package === packageOf(message))
      .flatMap((file) => file.messages.map((known) => known.name)),
  );
  const messages = Object.entries({
    [`Get${name}Request`]: "int32 id = 1;",
    [`List${plural}Request`]: "tidings.type.v1.ListQuery query = 1;",
    [`List${plural}Response`]: `repeated ${name} ${items} = 1;
  int32 total_size = 2;
  repeated int32 ids = 3;`,
    [`Create${name}Request`]: `${name} ${item} = 1;`,
    [`Saved${name}`]: `${name} ${item} = 1;
  bool created = 2;`,
    [`Update${name}Request`]: `int32 id = 1;
  ${name} ${item} = 2;
  google.protobuf.FieldMask update_mask = 3;
  bool allow_missing = 4;`,
    [`Delete${name}Request`]: "int32 id = 1;",
    [`BatchCreate${plural}Request`]: `repeated Create${name}Request requests = 1;`,
    [`BatchUpdate${plural}Request`]: `repeated Update${name}Request requests = 1;`,
    [`BatchDelete${plural}Request`]: "repeated int32 ids = 1;",
    [`Batch${plural}Response`]: `repeated ${name} ${items} = 1;
  repeated tidings.type.v1.ItemStatus statuses = 2;`,
  }).filter(([own]) => !declared.has(own));
  const any = "option (tidings.api.v1.verb) = VERB_ANY;";
  const readOptions = [...(permissionByRow ? [any] : []), "option idempotency_level = NO_SIDE_EFFECTS;"];
  const reading = ` {\n    ${readOptions.join("\n    ")}\n  }`;
  const writing = permissionByRow ? ` {\n    ${any}\n  }` : ";";
  const services = servicesOf(message).map(
    (service) => `service ${service} {
  option (tidings.api.v1.permission) = "${permission}";

  rpc Get${name}(Get${name}Request) returns (${name})${reading}
  rpc List${plural}(List${plural}Request) returns (List${plural}Response)${reading}
  rpc Create${name}(Create${name}Request) returns (Saved${name})${writing}
  rpc Update${name}(Update${name}Request) returns (Saved${name})${writing}
  rpc Delete${name}(Delete${name}Request) returns (${name})${writing}
  rpc BatchCreate${plural}(BatchCreate${plural}Request) returns (Batch${plural}Response)${writing}
  rpc BatchUpdate${plural}(BatchUpdate${plural}Request) returns (Batch${plural}Response)${writing}
  rpc BatchDelete${plural}(BatchDelete${plural}Request) returns (Batch${plural}Response)${writing}
}
`,
  );
  const body = `${services.join("\n")}
${messages.map(([own, fields]) => `message ${own} {\n  ${fields}\n}\n`).join("\n")}`;
  const imports = [
    "google/protobuf/field_mask.proto",
    "tidings/api/v1/options.proto",
    "tidings/type/v1/batch.proto",
    ...(body.includes("type.v1.ListQuery") ? ["tidings/type/v1/list.proto"] : []),
    file(message),
  ].sort();
  return `// Generated from ${file(message)} by \`npm run generate\`.
syntax = "proto3";

package ${packageOf(message)};

${imports.map((path) => `import "${path}";`).join("\n")}

${body}`;
}

function file({ file: { name } }: DescMessage): string {
  return `${name}.proto`;
}
