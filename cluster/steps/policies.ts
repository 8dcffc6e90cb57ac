import { deployments, SENDER } from "@tidings/scripts/deployments";
import { processes, readersOf } from "@tidings/scripts/processes";
import { NODE } from "../cluster.ts";
import { kubectl, type Pod, pods } from "../kubectl.ts";
import { say } from "../progress.ts";
import type { Outcome, Step, World } from "../step.ts";

/** Somewhere to connect to. */
interface Door {
  name: string;
  /** The component it belongs to; none for what is outside. */
  component?: string;
  host: string;
  port: number;
  /** The components that may connect; `undefined` lets anybody. */
  callers: string[] | undefined;
}

const ALL = deployments.map(({ name }) => name);
const STRANGER = "stranger";
/** Where nothing answers by then, nothing lets it through. */
const CONNECT_LIMIT_MS = 3_000;

/** Every process, and a pod that is none, tries every port of every other: who gets through is compared with who may. */
export const policySteps: Step[] = [{ name: "policies", run: tryDoors }];

async function tryDoors(world: World): Promise<Outcome[]> {
  await startStranger(world.installation.tag);
  const found = await pods();
  const running = (component: string): Pod => {
    const pod = found.find((pod) => pod.component === component && pod.isReady);
    if (!pod) throw new Error(`No ${component} is ready`);
    return pod;
  };
  const outcomes: Outcome[] = [];
  for (const name of [...ALL, STRANGER]) {
    const from = name === STRANGER ? STRANGER : running(name).name;
    // Within a component nothing is tried: where both ends have the same policy, the firewall here takes what it lets in for
    // what it lets out.
    const doors = doorsOf(running, world).filter(({ component }) => component !== name);
    const open = await openDoors(from, doors);
    outcomes.push(compared(name, doors, open));
  }
  await kubectl("delete", "pod", STRANGER, "--grace-period=0", "--force");
  return outcomes;
}

/** A pod of the same image that bears no label of the product. */
async function startStranger(tag: string): Promise<void> {
  const idle = ["--command", "--", "node", "-e", "setInterval(() => {}, 60_000)"];
  await kubectl("run", STRANGER, `--image=tidings-reporting:${tag}`, "--restart=Never", ...idle);
  await kubectl("wait", "--for=condition=Ready", `pod/${STRANGER}`, "--timeout=60s");
}

/** As `scripts/deployments.ts` has them; stores, metrics and what is outside besides. */
function doorsOf(running: (component: string) => Pod, world: World): Door[] {
  const door = (component: string, name: string, port: number, callers: string[] | undefined): Door => ({
    name: `${component} ${name}`,
    component,
    host: running(component).ip,
    port,
    callers,
  });
  const receiver = new URL(world.listener.url);
  return [
    ...deployments.map(({ name, callers, ports }) => door(name, "gRPC", ports.grpc, callers)),
    ...deployments.map(({ name, ports }) => door(name, "metrics", ports.ops, [])),
    ...processes.flatMap(({ name, ports: { http }, httpCallers }) =>
      http === undefined ? [] : [door(name, "HTTP", http, httpCallers.length > 0 ? httpCallers : undefined)],
    ),
    door("postgres", "", 5432, ALL),
    door("nats", "", 4222, ALL),
    door("nats", "monitoring", 8222, []),
    door("redis", "", 6379, readersOf("REDIS_URL")),
    {
      name: "receiver",
      host: receiver.hostname,
      port: Number(receiver.port),
      callers: ["webhook", STRANGER],
    },
    {
      name: "mail server",
      host: NODE.RECEIVER_IP,
      port: Number(NODE.MAIL_PORT),
      callers: [SENDER.name, STRANGER],
    },
    { name: "API server", host: NODE.NODE_IP, port: 6443, callers: [STRANGER] },
  ];
}

async function openDoors(pod: string, doors: Door[]): Promise<boolean[]> {
  const addresses = doors.map(({ host, port }) => [host, port]);
  return JSON.parse(await kubectl("exec", pod, "--", "node", "-e", CONNECT, JSON.stringify(addresses)));
}

const CONNECT = `
const { connect } = require("node:net");
const tries = JSON.parse(process.argv[1]).map(([host, port]) => new Promise((resolve) => {
  const socket = connect({ host, port, timeout: ${CONNECT_LIMIT_MS} });
  const end = (isOpen) => { socket.destroy(); resolve(isOpen); };
  socket.once("connect", () => end(true)).once("timeout", () => end(false)).once("error", () => end(false));
}));
Promise.all(tries).then((open) => console.log(JSON.stringify(open)));
`;

function compared(from: string, doors: Door[], open: boolean[]): Outcome {
  // A process may connect to its callees only; the gateway is reached from outside.
  const mayPass = (door: Door) => door.callers?.includes(from) ?? from === STRANGER;
  const names = (test: (door: Door, index: number) => boolean | undefined) =>
    doors.filter(test).map(({ name }) => name.trim());
  const wrong = names((door, index) => open[index] !== mayPass(door));
  const passed = names((_, index) => open[index]);
  const note = `reaches ${passed.join(", ") || "nothing"}; refused by ${doors.length - passed.length} others`;
  const outcome = {
    ok: wrong.length === 0,
    what: `network policies: ${from}`,
    note: wrong.length > 0 ? `${note}; NOT AS IT SHOULD BE: ${wrong.join(", ")}` : note,
  };
  say(`${outcome.ok ? "ok    " : "FAILED"}  ${outcome.what}: ${outcome.note}`);
  return outcome;
}
