import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { createTestDatabase, queryAsSuperuser } from "@tidings/testkit/postgres";
import { parse } from "yaml";
import { strangersIn } from "./metric-table.ts";
import { promtool, promtoolOn } from "./promtool.ts";

const FILE = join(import.meta.dirname, "../charts/tidings/files/alerts.yaml");
const RUNBOOKS = join(import.meta.dirname, "../docs/runbooks");

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}
const rules: Rule[] = parse(readFileSync(FILE, "utf8")).groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
);
const database = await createTestDatabase();
after(() => database.drop());

/** A minute apart, from the beginning on, as promtool writes them: `0x10` stays, `0+60x10` rises. */
type Series = Record<string, string>;

const requests = (all: string, failed: string): Series => ({
  'tidings_http_request_duration_seconds_count{process="gateway",route="/api/contacts",method="GET",status="200"}':
    all,
  'tidings_http_request_duration_seconds_count{process="gateway",route="/api/contacts",method="GET",status="503"}':
    failed,
});
const latencies = (route: string, fast: string, all: string): Series => ({
  [`tidings_http_request_duration_seconds_bucket{process="gateway",route="${route}",le="0.5"}`]: fast,
  [`tidings_http_request_duration_seconds_bucket{process="gateway",route="${route}",le="5"}`]: all,
  [`tidings_http_request_duration_seconds_bucket{process="gateway",route="${route}",le="+Inf"}`]: all,
});
const lag = (durable: string, values: string): Series => ({
  [`tidings_consumer_oldest_seconds{process="contact",stream="CONTACT",durable="${durable}"}`]: values,
});
const holds = (brief: string, all: string): Series => ({
  'tidings_event_loop_delay_seconds_bucket{process="contact",le="1"}': brief,
  'tidings_event_loop_delay_seconds_count{process="contact"}': all,
});

const broadcast = (sent: string): Series => ({
  'tidings_sends_overdue_seconds{process="content",lane="send_bulk"}': "0+60x40",
  'tidings_sends_total{process="content",lane="send_bulk",state="sent"}': sent,
  'tidings_sends_total{process="content",lane="send_bulk",state="waiting"}': "0+4x40",
});
const handOvers = (outcomes: Record<string, string>, transport = "smtp://mail.example:587"): Series =>
  Object.fromEntries(
    Object.entries(outcomes).map(([outcome, values]) => [
      `tidings_mail_hand_overs_total{process="content",transport="${transport}",outcome="${outcome}"}`,
      values,
    ]),
  );

const textHandOvers = (outcomes: Record<string, string>): Series =>
  Object.fromEntries(
    Object.entries(outcomes).map(([outcome, values]) => [
      `tidings_text_hand_overs_total{process="content",channel="sms",transport="form+https://api.example",outcome="${outcome}"}`,
      values,
    ]),
  );

const inboxLooks = (outcomes: Record<string, string>): Series =>
  Object.fromEntries(
    Object.entries(outcomes).map(([outcome, values]) => [
      `tidings_inbox_polls_total{process="content",outcome="${outcome}"}`,
      values,
    ]),
  );

const complaints = (values: string): Series => ({
  'tidings_mail_feedback_total{process="content",provider="ses",kind="complaint"}': values,
});
const refusedCallbacks = (values: string): Series => ({
  'tidings_callbacks_refused_total{process="content",provider="ses",reason="signature"}': values,
});

/** For each alert a series that makes it fire after so many minutes, and one that comes near and does not. */
const CASES: { alert: string; after: number; fires: Series; rests: Series; severity?: string }[] = [
  {
    alert: "TidingsErrorBudgetBurn",
    severity: "critical",
    after: 70,
    fires: requests("0+980x70", "0+20x70"),
    rests: requests("0+9990x70", "0+10x70"),
  },
  {
    alert: "TidingsErrorBudgetBurn",
    severity: "warning",
    after: 400,
    fires: requests("0+9920x400", "0+80x400"),
    rests: requests("0+9960x400", "0+40x400"),
  },
  {
    alert: "TidingsRequestsSlow",
    after: 30,
    fires: latencies("/api/contacts", "0+95x30", "0+100x30"),
    rests: {
      ...latencies("/api/contacts", "0+100x30", "0+100x30"),
      ...latencies("/api/contacts/batch/new", "0+1x30", "0+10x30"),
    },
  },
  {
    alert: "TidingsOutboxStuck",
    after: 5,
    fires: { 'tidings_outbox_oldest_seconds{process="contact"}': "0+60x5" },
    rests: { 'tidings_outbox_oldest_seconds{process="contact"}': "0 70 0 70 0 0" },
  },
  {
    alert: "TidingsRelayWithoutLeader",
    after: 5,
    fires: {
      'tidings_leader{process="contact",of="relay",pod="a"}': "1 0x5",
      'tidings_leader{process="contact",of="relay",pod="b"}': "0x5",
    },
    rests: {
      'tidings_leader{process="contact",of="relay",pod="a"}': "1 1 0x5",
      'tidings_leader{process="contact",of="relay",pod="b"}': "0 0 1x5",
    },
  },
  {
    alert: "TidingsBusAway",
    after: 5,
    fires: { 'tidings_bus_connected{process="contact"}': "0x5" },
    rests: { 'tidings_bus_connected{process="contact"}': "1 0 1x5" },
  },
  {
    alert: "TidingsConsumerBehind",
    after: 20,
    fires: lag("webhook-fan-out", "0+60x20"),
    rests: lag("webhook-fan-out", "290x20"),
  },
  {
    alert: "TidingsProjectionBehind",
    after: 20,
    fires: lag("campaign-projection-contact", "0+60x20"),
    rests: lag("campaign-projection-contact", "290x20"),
  },
  {
    alert: "TidingsProjectionNotBuilt",
    after: 40,
    fires: { 'tidings_projections_building{process="campaign"}': "2x40" },
    rests: { 'tidings_projections_building{process="campaign"}': "2x20 0x20" },
  },
  {
    alert: "TidingsHitsSpilling",
    after: 10,
    fires: { 'tidings_hit_spill_bytes{process="content"}': "4096x10" },
    rests: { 'tidings_hit_spill_bytes{process="content"}': "4096x2 0x8" },
  },
  {
    alert: "TidingsHitsLost",
    after: 12,
    fires: { 'tidings_hits_lost_total{process="content"}': "0+1x12" },
    rests: { 'tidings_hits_lost_total{process="content"}': "7x12" },
  },
  {
    alert: "TidingsFormsRefused",
    after: 20,
    fires: {
      'tidings_public_refusals_total{process="gateway",kind="form",reason="rate_limited"}': "0+20x20",
    },
    rests: { 'tidings_public_refusals_total{process="gateway",kind="form",reason="rate_limited"}': "0+5x20" },
  },
  {
    alert: "TidingsDeadLetters",
    after: 2,
    fires: { 'tidings_dead_letters_kept{process="contact",durable="contact-segments"}': "1x2" },
    rests: {
      'tidings_dead_letters_total{process="contact",durable="contact-segments",reason="INTERNAL"}': "1x2",
    },
  },
  {
    alert: "TidingsJobsOverdue",
    after: 20,
    fires: { 'tidings_jobs_overdue_seconds{process="contact",kind="segment_build"}': "0+60x20" },
    rests: { 'tidings_jobs_overdue_seconds{process="contact",kind="segment_build"}': "290x20" },
  },
  {
    alert: "TidingsJobsSetAside",
    after: 2,
    fires: { 'tidings_jobs_set_aside{process="contact",kind="segment_build"}': "1x2" },
    rests: { 'tidings_jobs_set_aside{process="contact",kind="segment_build"}': "0x2" },
  },
  {
    alert: "TidingsDeliveriesLate",
    after: 20,
    fires: { 'tidings_deliveries_overdue_seconds{process="webhook"}': "0+60x20" },
    rests: { 'tidings_deliveries_overdue_seconds{process="webhook"}': "50x20" },
  },
  {
    alert: "TidingsSendsStuck",
    severity: "critical",
    after: 5,
    fires: { 'tidings_sends_overdue_seconds{process="content",lane="send_direct"}': "0+60x5" },
    rests: { 'tidings_sends_overdue_seconds{process="content",lane="send_direct"}': "110x5" },
  },
  {
    alert: "TidingsSendsStuck",
    severity: "warning",
    after: 40,
    fires: broadcast("0+100x20 2000x20"),
    rests: broadcast("0+100x40"),
  },
  {
    alert: "TidingsSendsHeld",
    after: 5,
    fires: { 'tidings_sends_held{process="content"}': "0 1x5" },
    rests: { 'tidings_sends_held{process="content"}': "0x5" },
  },
  {
    alert: "TidingsSendsUnknown",
    after: 90,
    fires: { 'tidings_sends_unknown{process="content"}': "4x80 7x10" },
    rests: { 'tidings_sends_unknown{process="content"}': "4x10 7x80" },
  },
  {
    alert: "TidingsTransportDown",
    after: 20,
    fires: handOvers({ taken: "0+100x5 500x15", away: "0x5 0+4x15" }),
    // Another transport takes them.
    rests: {
      ...handOvers({ taken: "0x20", away: "0+4x20" }),
      ...handOvers({ taken: "0+100x20" }, "smtp://other.example:587"),
    },
  },
  {
    alert: "TidingsTextTransportDown",
    after: 20,
    fires: {
      ...textHandOvers({ taken: "0+10x5 50x15", away: "0x5 0+4x15" }),
      // Mails go out all the same.
      ...handOvers({ taken: "0+100x20" }),
    },
    rests: textHandOvers({ taken: "0+1x20", away: "0+4x20" }),
  },
  {
    alert: "TidingsInboxUnread",
    after: 40,
    fires: inboxLooks({ read: "0+2x5 10x35", "sign-in": "0x5 0+2x35" }),
    // Some looks fail, others read it.
    rests: inboxLooks({ read: "0+1x40", unreachable: "0+1x40" }),
  },
  {
    alert: "TidingsBounceRateHigh",
    after: 30,
    fires: handOvers({ taken: "0+90x30", refused: "0+6x30" }),
    rests: handOvers({ taken: "0+90x30", refused: "0+4x30", deferred: "0+60x30" }),
  },
  {
    alert: "TidingsComplaintsHigh",
    after: 120,
    fires: { ...complaints("0+1x120"), ...handOvers({ taken: "0+200x120" }) },
    rests: { ...complaints("0x60 0+1x20 20x40"), ...handOvers({ taken: "0+200x120" }) },
  },
  {
    alert: "TidingsCallbacksRefused",
    after: 40,
    fires: refusedCallbacks("0+1x40"),
    rests: refusedCallbacks("0x10 0+1x8 8x22"),
  },
  {
    alert: "TidingsProcessDown",
    after: 20,
    fires: {
      'tidings_ready{process="content",job="tidings-sender",pod="a"}': "1x5 stale",
      'tidings_ready{process="content",job="tidings-content",pod="b"}': "1x20",
    },
    rests: {
      'tidings_ready{process="contact",pod="a"}': "1x5 stale",
      'tidings_ready{process="contact",pod="b"}': "_x3 1x20",
    },
  },
  {
    alert: "TidingsProcessNotReady",
    after: 20,
    fires: {
      'tidings_ready{process="content",job="tidings-sender",pod="a"}': "0x20",
      'tidings_ready{process="content",job="tidings-content",pod="b"}': "1x20",
    },
    rests: {
      'tidings_ready{process="contact",pod="a"}': "0x20",
      'tidings_ready{process="contact",pod="b"}': "1x20",
    },
  },
  {
    alert: "TidingsDatabasePoolExhausted",
    after: 20,
    fires: { 'tidings_database_waiting{process="contact"}': "3x20" },
    rests: { 'tidings_database_waiting{process="contact"}': "3 0 0 0 0 0 0 3 0 0 0 0 0 0 0x10" },
  },
  {
    alert: "TidingsEventLoopBusy",
    after: 30,
    fires: { 'tidings_event_loop_busy_seconds_total{process="contact"}': "0+58x30" },
    rests: { 'tidings_event_loop_busy_seconds_total{process="contact"}': "0+50x30" },
  },
  {
    alert: "TidingsEventLoopHeldUp",
    after: 15,
    fires: holds("0+600x15", "0+600x9 6001+600x5"),
    rests: holds("0+600x15", "0+600x15"),
  },
  {
    alert: "TidingsScrapeIncomplete",
    after: 20,
    fires: { 'tidings_scrape_source_up{process="contact",source="outbox"}': "0x20" },
    rests: { 'tidings_scrape_source_up{process="contact",source="outbox"}': "0x5 1x15" },
  },
];

test("the rules are rules, of metrics that there are", async () => {
  await promtool("check", "rules", FILE);
  for (const { alert, expr } of rules) assert.deepEqual(strangersIn(expr), [], alert);
});

test("each alert fires when it should, by itself, and not when it is only near", async () => {
  const known = new Set(rules.map(({ alert, labels }) => `${alert} ${labels.severity}`));
  const provoked = CASES.map(({ alert, severity }) => `${alert} ${severity ?? severityOf(alert)}`);
  assert.deepEqual([...known].toSorted(), provoked.toSorted());
  const testOf = (alert: string, minutes: number, series: Series, severities: string[]) => ({
    name: alert,
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'max by (alertname, severity) (ALERTS{alertstate="firing"})',
        eval_time: `${minutes}m`,
        exp_samples: severities.map((severity) => ({
          labels: `{alertname="${alert}",severity="${severity}"}`,
          value: 1,
        })),
      },
    ],
  });
  await promtoolOn(["test", "rules"], {
    rule_files: [FILE],
    evaluation_interval: "1m",
    tests: CASES.flatMap(({ alert, after, fires, rests, severity = severityOf(alert) }) => {
      // A rate that burns a month's budget in two days burns it in five, too, once that is sure.
      const both = alert === "TidingsErrorBudgetBurn" && severity === "critical";
      return [
        testOf(`${alert}`, after, fires, both ? ["critical", "warning"] : [severity]),
        testOf(`${alert}`, after, rests, []),
      ];
    }),
  });
});

function severityOf(alert: string): string {
  return rules.find((rule) => rule.alert === alert)?.labels.severity ?? "";
}

test("each alert has its page, and the statements of a page run", async () => {
  const pages = readdirSync(RUNBOOKS).toSorted();
  const named = new Set(
    rules.map(({ annotations }) => annotations.runbook_url.replace("docs/runbooks/", "")),
  );
  assert.deepEqual(pages, [...named].toSorted());
  for (const { alert, annotations } of rules) {
    const text = readFileSync(join(import.meta.dirname, "..", annotations.runbook_url), "utf8");
    assert.match(text, new RegExp(`^# ${alert}\n`));
    for (const heading of ["## Means", "## Look", "## Do"])
      assert.ok(text.includes(heading), `${alert}: ${heading}`);
    for (const [, expression = ""] of text.matchAll(/```promql\n(.*?)```/gs))
      assert.deepEqual(strangersIn(expression), [], alert);
    for (const [, statements = ""] of text.matchAll(/```sql\n(.*?)```/gs))
      await assert.doesNotReject(queryAsSuperuser(database, `begin; ${statements}; rollback`), alert);
  }
});
