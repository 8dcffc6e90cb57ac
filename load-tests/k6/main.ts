import exec from "k6/execution";
import type { Options } from "k6/options";
import { preparingApi } from "./api.ts";
import { makeCrowd, removeCrowd } from "./contacts.ts";
import {
  type Credential,
  createCredential,
  deleteCredential,
  requestToken,
  type Token,
} from "./credential.ts";
import { Unexpected } from "./exchange.ts";
import { journeys as all } from "./journeys.ts";
import { type Journeys, optionsOf } from "./plan.ts";
import { profile } from "./profiles.ts";
import { reportOf } from "./report.ts";
import { resultOf, type SummaryData } from "./result.ts";
import { settings } from "./settings.ts";

interface State {
  /** A word that no other run has. */
  run: string;
  credential: Credential;
  token: Token;
  /** The state that each journey has prepared. */
  prepared: Record<string, unknown>;
}

const journeys = chosen(all, settings.journeys);

export const options: Options = optionsOf(journeys, profile, settings.rate);

/** Removes everything when it fails: k6 calls no teardown then. */
export function setup(): State {
  const run = `load${Date.now().toString(36)}`;
  const credential = createCredential(`Load test ${run}`, ["client_credentials"]);
  const state: State = { run, credential, token: requestToken(credential), prepared: {} };
  try {
    makeCrowd(preparingApi(state.token.value), run, settings.contacts);
    for (const [name, { prepare }] of Object.entries(journeys))
      state.prepared[name] = prepare(state.token.value, run);
  } catch (error) {
    try {
      teardown(state);
    } finally {
      exec.test.abort(String(error)); // what went wrong first
    }
  }
  return state;
}

export function run(state: State): void {
  const { name, iterationInTest } = exec.scenario;
  const mark = `${state.run}-${name}-${iterationInTest}`;
  try {
    journeys[name]?.iterate(tokenNow(state).value, state.prepared[name], mark);
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error; // else a check has counted it
  }
}

export function teardown({ run, credential, prepared }: State): void {
  const { value } = requestToken(credential);
  for (const [name, data] of Object.entries(prepared)) journeys[name]?.remove(value, data);
  if (settings.contacts > 0) removeCrowd(preparingApi(value), run);
  deleteCredential(credential);
}

export function handleSummary(data: SummaryData): Record<string, string> {
  const result = resultOf(data, settings, journeys);
  const report = reportOf(result);
  if (!settings.result) return { stdout: report };
  return {
    stdout: report,
    [`${settings.result}.md`]: report,
    [`${settings.result}.json`]: `${JSON.stringify(result, undefined, 1)}\n`,
  };
}

/** The token of this user, once the one that all began with gets old. */
let own: Token | undefined;
/** After 40 to 90 hundredths of its life, each user at another time: one credential gets few tokens a minute. */
const renewedAfter = 0.4 + 0.5 * Math.random();

function tokenNow({ token, credential }: State): Token {
  const present = own ?? token;
  if (Date.now() - present.issuedAt < present.lifetimeMs * renewedAfter) return present;
  own = requestToken(credential);
  return own;
}

function chosen(journeys: Journeys, names: string[]): Journeys {
  if (names.length === 0) return journeys;
  return Object.fromEntries(
    names.map((name) => {
      const found = journeys[name];
      if (!found) throw new Error(`There is no journey ${name}, only ${Object.keys(journeys).join(", ")}.`);
      return [name, found];
    }),
  );
}
