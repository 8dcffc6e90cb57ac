import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/**
 * Writes the JSON schemas of the kinds that the charts have, from the Go modules of who defines them: no unknown field is
 * allowed, and descriptions are left out. One file for each kind, as kubeconform finds it.
 */

const FOLDER = join(import.meta.dirname, "schemas");

const KUBERNETES = { module: "k8s.io/kubernetes@v1.34.4", path: "api/openapi-spec/swagger.json" };
const KUBERNETES_KINDS = [
  "api.core.v1.ConfigMap",
  "api.core.v1.PersistentVolumeClaim",
  "api.core.v1.Pod",
  "api.core.v1.Secret",
  "api.core.v1.Service",
  "api.core.v1.ServiceAccount",
  "api.apps.v1.Deployment",
  "api.apps.v1.StatefulSet",
  "api.batch.v1.Job",
  "api.autoscaling.v2.HorizontalPodAutoscaler",
  "api.networking.v1.Ingress",
  "api.networking.v1.NetworkPolicy",
  "api.policy.v1.PodDisruptionBudget",
];

/** Definitions of kinds that others bring along. */
const CUSTOM_KINDS = [
  {
    module: "github.com/cert-manager/cert-manager@v1.21.2",
    path: "deploy/crds/cert-manager.io_certificates.yaml",
  },
  { module: "github.com/kedacore/keda/v2@v2.21.0", path: "config/crd/bases/keda.sh_scaledobjects.yaml" },
  {
    module: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    path: "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
  },
  {
    module: "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    path: "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
  },
  {
    module: "sigs.k8s.io/gateway-api@v1.4.0",
    path: "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
  },
];

interface Schema {
  [keyword: string]: unknown;
  properties?: Record<string, Schema>;
}

interface CustomKind {
  spec: {
    names: { kind: string };
    versions: { name: string; storage: boolean; schema: { openAPIV3Schema: Schema } }[];
  };
}

const PREFIX = "io.k8s.";
const DEFINITIONS = "definitions.json";

rmSync(FOLDER, { recursive: true, force: true });
execFileSync("mkdir", ["-p", FOLDER]);
writeKubernetes();
for (const source of CUSTOM_KINDS) writeCustom(source);

/** The kinds share their parts, of which a pod has most. */
function writeKubernetes(): void {
  const { definitions } = JSON.parse(read(KUBERNETES)) as { definitions: Record<string, Schema> };
  const kept = new Map<string, Schema>();
  const keep = (name: string) => {
    const definition = definitions[name];
    if (!definition || kept.has(name)) return;
    const schema = strict(definition);
    kept.set(name, schema);
    for (const [, used] of JSON.stringify(schema).matchAll(/"\$ref":"[^#]*#\/definitions\/([^"]+)"/g))
      keep(used ?? "");
  };
  for (const kind of KUBERNETES_KINDS) {
    keep(PREFIX + kind);
    write(fileOf(kind.split(".").at(-1) ?? ""), { $ref: `${DEFINITIONS}#/definitions/${PREFIX}${kind}` });
  }
  const sorted = [...kept].sort(([one], [other]) => (one < other ? -1 : 1));
  write(DEFINITIONS, { definitions: Object.fromEntries(sorted) });
}

function writeCustom(source: { module: string; path: string }): void {
  const { spec } = parse(read(source)) as CustomKind;
  const version = spec.versions.find(({ storage }) => storage);
  if (!version) throw new Error(`${source.path} has no version that is kept`);
  write(fileOf(spec.names.kind), strict(version.schema.openAPIV3Schema));
}

/** A schema that checks its members and refuses all others. */
function strict(schema: Schema): Schema {
  if (schema["x-kubernetes-int-or-string"] || schema.format === "int-or-string")
    return { type: ["integer", "string"] };
  const { properties } = schema;
  const entries = Object.entries(schema)
    .filter(([keyword]) => !/^(description|default|format|x-kubernetes-.*)$/.test(keyword))
    .map(([keyword, value]) => [keyword, keyword === "properties" ? value : strictValue(value)]);
  const result: Schema = Object.fromEntries(entries);
  if (!properties) return result;
  result.properties = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, strict(property)]),
  );
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] || schema.additionalProperties;
  return isOpen ? result : { ...result, additionalProperties: false };
}

function strictValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strictValue);
  return typeof value === "object" && value !== null ? strict(value as Schema) : value;
}

function read({ module, path }: { module: string; path: string }): string {
  const told = execFileSync("go", ["mod", "download", "-json", module], { encoding: "utf8" });
  return readFileSync(join((JSON.parse(told) as { Dir: string }).Dir, path), "utf8");
}

function write(name: string, schema: object): void {
  writeFileSync(join(FOLDER, name), `${JSON.stringify(schema)}\n`);
}

/** kubeconform knows kinds in small letters. */
function fileOf(kind: string): string {
  return `${kind.toLowerCase()}.json`;
}
