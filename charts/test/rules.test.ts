import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { readConfig } from "@tidings/runtime/config";
import { chartSecrets } from "@tidings/scripts/chart-secrets";
import { type Deployment, deployments, SENDER } from "@tidings/scripts/deployments";
import { SENDER_COMMAND } from "@tidings/scripts/memory";
import { migrateConfig, migrateVariables, passwordVariableOf } from "@tidings/scripts/migrate-config";
import { processes } from "@tidings/scripts/processes";
import { parse } from "yaml";
import type { z } from "zod";
import { flowsOf, portsOutside } from "./flows.ts";
import {
  type Container,
  componentOf,
  containersOf,
  keyOf,
  type Labels,
  type Manifest,
  type Pods,
  podsOf,
  type Selector,
  selects,
} from "./manifest.ts";
import { CHART, CHARTS, PROFILES, render } from "./render.ts";

const FILES = join(CHART, "files");

/** The rendered objects of each profile, and of the chart by itself. */
const renders = new Map<string, Manifest[]>();

before(async () => {
  renders.set("default", await render());
  for (const profile of PROFILES) renders.set(profile, await render({ profile }));
});

/** Calls `check` for each profile. */
function always(name: string, check: (manifests: Manifest[], profile: string) => void): void {
  test(name, () => {
    for (const [profile, manifests] of renders) check(manifests, profile);
  });
}

function eachContainer(
  manifests: Manifest[],
  check: (container: Container, pods: Pods, where: string) => void,
): void {
  for (const pods of podsOf(manifests))
    for (const container of containersOf(pods))
      check(container, pods, `${keyOf(pods.owner)} ${container.name}`);
}

always("every container asks for CPU and memory, and has a limit of both", (manifests) => {
  eachContainer(manifests, ({ resources }, _pods, where) => {
    for (const amounts of [resources?.requests, resources?.limits])
      for (const resource of ["cpu", "memory"]) assert.ok(amounts?.[resource], `${where}: ${resource}`);
  });
});

always("every pod is restricted as Pod Security means it, and has no token", (manifests) => {
  for (const { owner, spec } of podsOf(manifests)) {
    assert.equal(spec.automountServiceAccountToken, false, keyOf(owner));
    assert.equal(spec.securityContext?.runAsNonRoot, true, keyOf(owner));
    assert.deepEqual(spec.securityContext?.seccompProfile, { type: "RuntimeDefault" }, keyOf(owner));
  }
  eachContainer(manifests, ({ securityContext }, _pods, where) => {
    assert.deepEqual(
      securityContext,
      { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
      where,
    );
  });
});

always("every image says which it is", (manifests) => {
  eachContainer(manifests, ({ image }, _pods, where) => {
    assert.match(image, /:[\w.-]+$|@sha256:[0-9a-f]{64}$/, where);
    assert.doesNotMatch(image, /:(latest|main|master|edge)$/, where);
  });
});

always("no variable is set twice", (manifests) => {
  eachContainer(manifests, ({ env = [] }, _pods, where) => {
    const names = env.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)], where);
  });
});

always("whatever chooses pods finds some, and the ports it names", (manifests) => {
  const all = podsOf(manifests);
  for (const manifest of manifests) {
    const selector = selectorOf(manifest);
    if (!selector) continue;
    const chosen = all.filter(({ labels }) => selects(selector, labels));
    assert.ok(chosen.length > 0, `${keyOf(manifest)} finds nobody`);
    const ports = manifest.kind === "Service" ? (manifest.spec?.ports as { targetPort: string }[]) : [];
    for (const { targetPort } of ports)
      for (const pods of chosen)
        assert.ok(
          portsOf(pods).has(targetPort),
          `${keyOf(manifest)}: ${keyOf(pods.owner)} has no ${targetPort}`,
        );
  }
});

always("what an object refers to is there", (manifests) => {
  const keys = new Set(manifests.map(keyOf));
  const refer = (from: Manifest, kind: string, name: string | undefined) =>
    assert.ok(name === undefined || keys.has(`${kind}/${name}`), `${keyOf(from)}: no ${kind} ${name}`);
  for (const { owner, spec } of podsOf(manifests)) {
    refer(owner, "ServiceAccount", spec.serviceAccountName);
    for (const { configMap, persistentVolumeClaim } of spec.volumes ?? []) {
      refer(owner, "ConfigMap", configMap?.name);
      refer(owner, "PersistentVolumeClaim", persistentVolumeClaim?.claimName);
    }
  }
  for (const manifest of manifests) {
    const target = manifest.spec?.scaleTargetRef as { kind?: string; name: string } | undefined;
    if (target) refer(manifest, target.kind ?? "Deployment", target.name);
  }
});

always("a process that is scaled has no number of replicas of its own", (manifests) => {
  const scaled = manifests.flatMap(({ spec }) => {
    const target = spec?.scaleTargetRef as { name: string } | undefined;
    return target ? [`Deployment/${target.name}`] : [];
  });
  for (const manifest of manifests)
    if (scaled.includes(keyOf(manifest))) assert.ok(!("replicas" in (manifest.spec ?? {})), keyOf(manifest));
});

always("a process that is told to stop has the time it takes", (manifests) => {
  for (const { name, stopLimitMs } of deployedIn(manifests)) {
    const { spec } = podsNamed(manifests, name);
    const delay = spec.containers[0]?.env?.find((variable) => variable.name === "SHUTDOWN_DELAY_MS")?.value;
    assert.ok(Number(spec.terminationGracePeriodSeconds) * 1_000 > Number(delay) + stopLimitMs, name);
  }
});

always("each process is told what it reads, accepts it, and is told nothing else", (manifests, profile) => {
  const secrets = secretsFor(profile);
  for (const { name, shape } of deployedIn(manifests)) {
    const container = containerOf(manifests, name);
    const env = environmentOf(container, secrets);
    assert.deepEqual(
      ownVariables(container).filter((variable) => !(variable in shape)),
      [],
      `${profile} ${name}`,
    );
    readConfig(shape as z.ZodRawShape, env);
  }
});

always(
  "the migrations are told what they read, accept it, and are told nothing else",
  (manifests, profile) => {
    const container = containerOf(manifests, "migrate");
    const known = [
      ...Object.keys(migrateVariables),
      ...processes.map(({ schema }) => passwordVariableOf(schema)),
    ];
    for (const variable of ownVariables(container))
      assert.ok(known.includes(variable), `${profile}: ${variable}`);
    migrateConfig(environmentOf(container, secretsFor(profile)));
  },
);

test("each process signs in as the role, and with the password, that the migrations make", () => {
  const secrets = chartSecrets({ release: "tidings", adminPassword: "correct horse", rolePrefix: "second" });
  const of = (name: string) =>
    secrets.find(({ metadata }) => metadata.name === `tidings-${name}`)?.stringData ?? {};
  const { passwordOf, ROLE_PREFIX } = migrateConfig(of("migrate"));
  for (const { name, schema } of processes) {
    const { username, password } = new URL(of(name).DATABASE_URL ?? "");
    assert.deepEqual([username, password], [`${ROLE_PREFIX}_${schema}`, passwordOf(schema)]);
  }
});

always("a process is called where it listens", (manifests, profile) => {
  const services = manifests.filter(({ kind }) => kind === "Service");
  for (const { name } of deployedIn(manifests))
    for (const { name: variable, value = "" } of containerOf(manifests, name).env ?? []) {
      if (!variable.endsWith("_ADDRESS") || variable === "INTERNAL_ADDRESS") continue;
      const [host, port] = value.split(":");
      const service = services.find(({ metadata }) => metadata.name === host);
      const ports = (service?.spec?.ports ?? []) as { port: number }[];
      assert.ok(
        ports.some((known) => String(known.port) === port),
        `${profile} ${name}: nobody listens at ${variable} ${value}`,
      );
    }
});

test("processes may reach each other where one calls the other, and nobody else", () => {
  const calls = deployments.flatMap(({ name, callers }) =>
    callers.map((caller) => `${caller} > ${name}:grpc`),
  );
  const expected = [...calls, "gateway > content:http", "smoke > gateway:http"];
  for (const profile of ["networkpolicy", "production"]) {
    const flows = flowsOf(renders.get(profile) ?? []);
    const between = flows.filter((flow) => !/(postgres|nats|redis):/.test(flow));
    assert.deepEqual(between, expected.sort(), profile);
  }
});

test("every process reaches Postgres and NATS, the migrations Postgres, the gateway alone Redis", () => {
  const names = deployments.map(({ name }) => name);
  const expected = [
    ...[...names, "migrate"].map((name) => `${name} > postgres:postgres`),
    ...names.map((name) => `${name} > nats:nats`),
    "gateway > redis:redis",
  ];
  const flows = flowsOf(renders.get("networkpolicy") ?? []);
  assert.deepEqual(
    flows.filter((flow) => /(postgres|nats|redis):/.test(flow)),
    expected.sort(),
  );
});

test("migrations that come before everything else have all that they need by then", () => {
  const early = (renders.get("production") ?? []).filter(({ metadata }) =>
    metadata.annotations?.["helm.sh/hook"]?.includes("pre-install"),
  );
  assert.deepEqual(early.map(keyOf), ["Job/tidings-migrate", "NetworkPolicy/tidings-migrate"]);
  const egress = early[1]?.spec?.egress as { ports: { port: number }[] }[];
  assert.deepEqual(
    egress.map(({ ports }) => ports.map(({ port }) => port)),
    [[53, 53], [5432]],
  );
});

test("only webhooks and content may go out, and not to private addresses; senders may where the bucket is there", () => {
  const goOut = (profile: string) =>
    (renders.get(profile) ?? [])
      .filter(({ kind, spec }) => kind === "NetworkPolicy" && JSON.stringify(spec).includes('"0.0.0.0/0"'))
      .map(({ metadata }) => componentOf(metadata.labels))
      .sort();
  assert.deepEqual(goOut("networkpolicy"), ["content", "webhook"]);
  assert.deepEqual(goOut("production"), ["content", "sender", "webhook"]);
});

test("senders alone may reach mail servers, and content where it sends", async () => {
  const reach = (manifests: Manifest[]) => [
    ...new Set(portsOutside(manifests).flatMap(({ component, opens }) => (opens(587) ? [component] : []))),
  ];
  for (const profile of ["networkpolicy", "production"])
    assert.deepEqual(reach(renders.get(profile) ?? []), [SENDER.name], profile);
  const isTogether = ["content.env.CONTENT_ROLE=all"];
  const together = await render({ profile: "networkpolicy", set: isTogether });
  assert.deepEqual(reach(together), ["content"]);
  const ports = ["global.networkPolicy.smtp.ports={2525,25}"];
  const open = portsOutside(await render({ profile: "production", set: ports }));
  const opened = (component: string, port: number) =>
    open.some((rule) => rule.component === component && rule.opens(port));
  for (const port of [1, 24, 26, 443, 587, 2_524, 2_526, 65_535])
    assert.ok(opened("webhook", port), `${port}`);
  for (const port of [25, 2_525])
    assert.deepEqual(
      [opened("webhook", port), opened("content", port), opened("sender", port)],
      [false, false, true],
    );
});

test("senders may reach an inbox only where its ports are named", async () => {
  const isOpen = (manifests: Manifest[]) =>
    portsOutside(manifests).some(({ component, opens }) => component === SENDER.name && opens(993));
  assert.equal(isOpen(renders.get("networkpolicy") ?? []), false);
  const set = ["global.networkPolicy.imap.ports={993}"];
  assert.equal(isOpen(await render({ profile: "networkpolicy", set })), true);
});

test("senders sign in, and keep files, as content does", async () => {
  const set = [
    ...["content.data.persistent=true", "content.data.accessMode=ReadWriteMany", "content.secret=given"],
    ...[
      "content.env.MAIL_FROM=a@example.com",
      "sender.env.MAIL_TRACKING_PIXEL=false",
      "global.tls.enabled=true",
    ],
    `content.image.digest=sha256:${"0".repeat(64)}`,
  ];
  const manifests = await render({ set });
  const [content, sender] = ["content", SENDER.name].map((name) => podsNamed(manifests, name).spec);
  assert.deepEqual(sender?.volumes, content?.volumes);
  assert.deepEqual(sender?.containers[0]?.volumeMounts, content?.containers[0]?.volumeMounts);
  assert.equal(sender?.containers[0]?.image, content?.containers[0]?.image);
  assert.deepEqual(
    [content, sender].map((spec) => spec?.containers[0]?.command),
    [undefined, SENDER_COMMAND],
  );
  const [ofContent, ofSender] = [content, sender].map(
    (spec) => new Map(spec?.containers[0]?.env?.map((one) => [one.name, one])),
  );
  const differs = [...(ofSender ?? [])].filter(
    ([name, one]) => !isDeepStrictEqual(one, ofContent?.get(name)),
  );
  assert.deepEqual(Object.fromEntries(differs.map(([name, { value }]) => [name, value])), {
    SHUTDOWN_DELAY_MS: "0",
    CONTENT_ROLE: "send",
    MAIL_TRACKING_PIXEL: "false",
  });
  assert.deepEqual(
    [...(ofContent ?? [])].map(([name]) => name).filter((name) => !ofSender?.has(name)),
    [],
  );
});

test("there are no senders where content sends", async () => {
  const set = ["content.env.CONTENT_ROLE=all"];
  const names = (await render({ set })).map(({ metadata }) => metadata.name);
  assert.deepEqual(
    names.filter((name) => name.includes(SENDER.name)),
    [],
  );
  await assert.rejects(render({ set: ["content.env.CONTENT_ROLE=send"] }), /CONTENT_ROLE: serve .* or all/);
});

test("with policies, every pod is denied what no policy allows", () => {
  const manifests = renders.get("networkpolicy") ?? [];
  const denial = manifests.find(
    ({ metadata, kind }) => kind === "NetworkPolicy" && /default-deny/.test(metadata.name),
  );
  assert.deepEqual(denial?.spec?.policyTypes, ["Ingress", "Egress"]);
  assert.equal(denial?.spec?.ingress, undefined);
  for (const { labels, owner } of podsOf(manifests))
    assert.ok(selects(denial?.spec?.podSelector as Selector, labels), keyOf(owner));
});

test("the Secrets that `npm run secrets` prints are those that the chart reads, with all keys", () => {
  for (const profile of ["default", "minimal"]) {
    const secrets = secretsFor(profile);
    for (const { spec, owner } of podsOf(renders.get(profile) ?? [])) {
      for (const { secret } of spec.volumes ?? [])
        if (secret) assert.ok(secrets.has(secret.secretName), `${keyOf(owner)}: ${secret.secretName}`);
      for (const { env = [] } of spec.containers)
        for (const { name, valueFrom } of env) {
          const key = valueFrom?.secretKeyRef;
          if (key && !key.optional) assert.ok(secrets.get(key.name)?.[key.key], `${keyOf(owner)}: ${name}`);
        }
    }
  }
  const read = new Set(JSON.stringify(renders.get("minimal")).match(/(?<="(secretN|n)ame":")[^"]*/g));
  for (const name of secretsFor("minimal").keys()) assert.ok(read.has(name), `${name} is read by nobody`);
});

test("senders are scaled by the mails that are due", async () => {
  const scaler = (renders.get("keda") ?? []).find(
    ({ metadata, kind }) => kind === "ScaledObject" && componentOf(metadata.labels) === SENDER.name,
  );
  const triggers = (scaler?.spec?.triggers ?? []) as { type: string; metadata: Labels }[];
  assert.deepEqual(
    triggers.map(({ type }) => type),
    ["prometheus", "cpu"],
  );
  const query = triggers[0]?.metadata.query ?? "";
  // KEDA does not scale by a metric that no process has.
  const metrics = readFileSync(join(CHARTS, "../docs/metrics.md"), "utf8");
  const read = query.match(/tidings_\w+/g) ?? [];
  for (const name of read) assert.ok(metrics.includes(`| \`${name}\` | gauge | \`lane\` |`), name);
  assert.ok(read.length > 0);
  const set = ["sender.autoscaling.enabled=true", "sender.autoscaling.by=lag"];
  await assert.rejects(render({ set }), /sender: KEDA asks Prometheus.*prometheus\.address/);
});

test("each process is scaled by the durables that it reads by", async () => {
  for (const { name, durables: read } of processes) {
    if (read.length === 0) continue;
    const set = ["enabled=true", "by=lag"].map((setting) => `${name}.autoscaling.${setting}`);
    const scaler = (await render({ set: [...set, "nats.enabled=true"] })).find(
      ({ kind }) => kind === "ScaledObject",
    );
    const triggers = (scaler?.spec?.triggers ?? []) as { type: string; metadata: Labels }[];
    const told = triggers.filter(({ type }) => type === "nats-jetstream").map(({ metadata }) => metadata);
    assert.deepEqual(told.map(({ stream, consumer }) => `${stream}/${consumer}`).sort(), read.toSorted());
  }
});

always("files are passed on as they are", (manifests) => {
  for (const { kind, metadata, data = {}, spec } of manifests) {
    if (kind === "ConfigMap")
      for (const [name, text] of Object.entries(data))
        assert.equal(text.trimEnd(), fileOfChart(`{,dashboards/}${name}`), metadata.name);
    if (kind !== "PrometheusRule") continue;
    const told = JSON.stringify(spec).replaceAll(
      "https://docs.example.com/tidings/runbooks/",
      "docs/runbooks/",
    );
    assert.deepEqual(JSON.parse(told), parse(fileOfChart("alerts.yaml")));
  }
});

test("every dashboard is there, and the alerts are, where they are wanted", () => {
  const manifests = renders.get("production") ?? [];
  const files = manifests.flatMap(({ kind, data = {} }) => (kind === "ConfigMap" ? Object.keys(data) : []));
  const wanted = globSync("dashboards/*.json", { cwd: FILES }).map((path) => basename(path));
  assert.deepEqual(files.filter((name) => name.endsWith(".json")).sort(), wanted.sort());
  const alerts = manifests.find(({ kind }) => kind === "PrometheusRule");
  const pages = JSON.stringify(alerts?.spec).match(/"runbook_url":"[^"]*"/g) ?? [];
  assert.ok(pages.length > 0);
  // Where a page is read is the operator's to say.
  for (const page of pages)
    assert.match(page, /"https:\/\/docs\.example\.com\/tidings\/runbooks\/[a-z-]+\.md"$/);
});

test("releases of two names have nothing in common", async () => {
  const manifests = await render({ profile: "networkpolicy", release: "other" });
  for (const manifest of manifests) assert.match(manifest.metadata.name, /^other-/, keyOf(manifest));
  const text = JSON.stringify(manifests).replaceAll(/tidings-(gateway|migrate|\w+):0/g, "");
  assert.doesNotMatch(text, /"tidings-/);
});

test("rendering twice gives the same objects", async () => {
  assert.deepEqual(await render({ profile: "minimal" }), renders.get("minimal"));
});

test("values that the chart does not know, or of another kind, are refused", async () => {
  for (const setting of [
    "gatway.replicas=2",
    "gateway.replica=2",
    "gateway.env.API_MAX_LIMIT=100000",
    "gateway.replicas=two",
    "global.tls.enable=true",
    "postgres.enabled=yes",
    "gateway.autoscaling.by=memory",
    "contact.data.accessMode=ReadWrite",
    "sender.autoscaling.by=memory",
    "sender.secret=another",
  ])
    await assert.rejects(
      render({ set: [setting] }),
      /values don't meet the specifications|Additional property|schema/i,
      setting,
    );
});

test("a volume for one is not given to two", async () => {
  await assert.rejects(
    render({ set: ["content.data.persistent=true", "content.replicas=2"] }),
    /serves one replica/,
  );
  await assert.rejects(
    render({ set: ["content.data.persistent=true"] }),
    /sender: a volume .* for content alone/,
  );
  await render({ set: ["content.data.persistent=true", "content.env.CONTENT_ROLE=all"] });
  await render({ set: ["content.data.persistent=true", "content.env.FILES_S3_URL=https://s3.example.com"] });
});

test("hits wait on the volume that is named for them", async () => {
  const manifests = await render({ set: ["content.data.hitsClaim=hits"] });
  const content = podsOf(manifests).find(({ owner }) => componentOf(owner.metadata.labels) === "content");
  const [container] = content ? containersOf(content) : [];
  const mountPath = container?.env?.find(({ name }) => name === "HITS_DIR")?.value;
  const mount = container?.volumeMounts?.find((mount) => mount.mountPath === mountPath);
  const volume = content?.spec.volumes?.find(({ name }) => name === mount?.name);
  assert.deepEqual(volume?.persistentVolumeClaim, { claimName: "hits" });
});

test("nothing is scaled by what waits where nobody can be asked for it", async () => {
  const set = ["webhook.autoscaling.enabled=true", "webhook.autoscaling.by=lag"];
  await assert.rejects(render({ set }), /webhook: KEDA asks NATS.*natsMonitoring\.endpoint/);
  await render({ set: [...set, "nats.enabled=true"] });
});

test("both charts and what is in them are of one version", () => {
  const charts = ["tidings", "service"].map(
    (name) => parse(readFileSync(join(CHARTS, name, "Chart.yaml"), "utf8")) as ChartFile,
  );
  const [tidings, service] = charts;
  assert.equal(tidings?.appVersion, service?.appVersion);
  assert.deepEqual(
    tidings?.dependencies?.map(({ alias, version }) => ({ alias, version })).sort(byAlias),
    processes.map(({ name }) => ({ alias: name, version: service?.version ?? "" })).sort(byAlias),
  );
});

interface ChartFile {
  version: string;
  appVersion: string;
  dependencies?: { alias: string; version: string }[];
}

function byAlias(one: { alias: string }, other: { alias: string }): number {
  return one.alias < other.alias ? -1 : 1;
}

/** The text of the one file of the chart that is called so. */
function fileOfChart(pattern: string): string {
  const [path, ...others] = globSync(pattern, { cwd: FILES });
  assert.ok(path && others.length === 0, pattern);
  return readFileSync(join(FILES, path), "utf8").trimEnd();
}

/** The selector of an object that chooses pods. */
function selectorOf({ kind, spec }: Manifest): Selector | undefined {
  switch (kind) {
    case "Service":
      return { matchLabels: spec?.selector as Labels };
    case "NetworkPolicy":
      return spec?.podSelector as Selector;
    case "PodDisruptionBudget":
    case "Deployment":
    case "StatefulSet":
      return spec?.selector as Selector;
    default:
      return undefined;
  }
}

function portsOf(pods: Pods): Set<string> {
  return new Set(containersOf(pods).flatMap(({ ports = [] }) => ports.map(({ name }) => name)));
}

function podsNamed(manifests: Manifest[], name: string): Pods {
  const pods = podsOf(manifests).find(({ labels }) => componentOf(labels) === name);
  assert.ok(pods, `there is no ${name}`);
  return pods;
}

function containerOf(manifests: Manifest[], name: string): Container {
  const [container] = podsNamed(manifests, name).spec.containers;
  assert.ok(container);
  return container;
}

/** Every deployment, without the senders where content sends. */
function deployedIn(manifests: Manifest[]): Deployment[] {
  const role = containerOf(manifests, "content").env?.find(({ name }) => name === "CONTENT_ROLE")?.value;
  return deployments.filter(({ name }) => name !== SENDER.name || role === "serve");
}

/** The secrets that `npm run secrets` makes for a profile: stores outside of the chart are the operator's. */
function secretsFor(profile: string): Map<string, Record<string, string>> {
  const isOwn = ["minimal", "networkpolicy"].includes(profile);
  const given = {
    databaseUrl: "postgres://admin:secret@db.example.com/marketing",
    natsUrl: "nats://nats.example.com",
    redisUrl: "redis://redis.example.com",
    bucketKeys: { access: "key", secret: "secret" },
  };
  const secrets = chartSecrets({ release: "tidings", adminPassword: "correct horse", ...(!isOwn && given) });
  return new Map(secrets.map(({ metadata, stringData }) => [metadata.name, stringData]));
}

/** Variables of Node and of OpenTelemetry's SDK, which know them. */
function isForeign({ name }: { name: string }): boolean {
  return /^(NODE|OTEL)_/.test(name);
}

/** The variables of the product, with those that a Secret need not have. */
function ownVariables({ env = [] }: Container): string[] {
  return env.filter((variable) => !isForeign(variable)).map(({ name }) => name);
}

/** As Kubernetes would set it. */
function environmentOf(
  { env = [] }: Container,
  secrets: Map<string, Record<string, string>>,
): Record<string, string> {
  const own = env.filter((variable) => !isForeign(variable));
  const entries = own.flatMap(({ name, value, valueFrom }): [string, string][] => {
    const key = valueFrom?.secretKeyRef;
    const text = key ? secrets.get(key.name)?.[key.key] : value;
    if (text !== undefined) return [[name, text]];
    assert.ok(key?.optional, `${name} comes from nowhere`);
    return [];
  });
  return Object.fromEntries(entries);
}
