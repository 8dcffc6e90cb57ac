/** A row of the ledger of mails. */
export interface MailRow {
  address: string;
  state: string;
  reason?: string;
}

export interface Mailing {
  /** The contacts that were to get the mail. */
  chosen: number;
  /** The most mails whose outcome nobody may know. */
  unknownMax: number;
  rows: MailRow[];
  /** The recipients of all mails that the mail server took. */
  journal: string[];
}

/** How often a mail may have come, by what the ledger says of it. */
const COMES: Record<string, { least: number; most: number }> = {
  sent: { least: 1, most: 1 },
  unknown: { least: 0, most: 1 },
  failed: { least: 0, most: 0 },
  suppressed: { least: 0, most: 0 },
};

/** Compares the ledger with the journal of the mail server. Answers a sentence for each kind of difference: none where all is as promised. */
export function differencesOf({ chosen, unknownMax, rows, journal }: Mailing): string[] {
  const came = new Map<string, number>();
  for (const address of journal) came.set(address, (came.get(address) ?? 0) + 1);
  const known = new Set(rows.map(({ address }) => address));
  const count = (test: (row: MailRow, times: number) => boolean) =>
    rows.filter((row) => test(row, came.get(row.address) ?? 0)).length;
  const counts: [many: number, difference: string][] = [
    [[...came.values()].filter((times) => times > 1).length, "addresses got the mail twice"],
    [[...came.keys()].filter((address) => !known.has(address)).length, "addresses have no row"],
    [rows.length - known.size, "rows are of an address that has another row"],
    [Math.max(0, chosen - known.size), "contacts have no row"],
    [count(({ state }) => !COMES[state]), "rows are not decided"],
    [count(({ state }, times) => times < (COMES[state]?.least ?? 0)), "mails are sent and never came"],
    [count(({ state }, times) => COMES[state]?.most === 0 && times > 0), "mails came and are not sent"],
    [
      Math.max(0, count(({ state }) => state === "unknown") - unknownMax),
      `mails are unknown besides the ${unknownMax} that may be (${reasonsOf(rows)})`,
    ],
  ];
  return counts.filter(([many]) => many > 0).map(([many, difference]) => `${many} ${difference}`);
}

/** Why mails are unknown, each reason once; a mail whose sender died has none. */
function reasonsOf(rows: MailRow[]): string {
  const reasons = rows.filter(({ state }) => state === "unknown").map(({ reason }) => reason || "no reason");
  return [...new Set(reasons)].join(", ");
}
