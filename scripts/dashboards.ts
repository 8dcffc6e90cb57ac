import { type Dashboard, dashboard, type Panel } from "./dashboard.ts";

/** The dashboards of the charts: Grafana finds them by the label of their ConfigMaps. */
export const DASHBOARDS_FOLDER = "charts/tidings/files/dashboards";

const HTTP = "tidings_http_request_duration_seconds";
const RPC = "tidings_rpc_duration_seconds";
const HERE = 'namespace=~"$namespace"';
const OF_IT = `${HERE},process=~"$process"`;

/** Seconds within which so many of the measurements of a histogram lie. */
const quantile = (share: number, histogram: string, by: string[] = [], matchers = HERE) =>
  `histogram_quantile(${share}, sum by (${["le", ...by].join(", ")}) (rate(${histogram}_bucket{${matchers}}[$__rate_interval])))`;
const rate = (counter: string, by: string, matchers = HERE) =>
  `sum by (${by}) (rate(${counter}{${matchers}}[$__rate_interval]))`;
const highest = (gauge: string, by: string, matchers = HERE) => `max by (${by}) (${gauge}{${matchers}})`;
const each = (title: string, unit: Panel["unit"], legend: string, expression: string): Panel => ({
  title,
  unit,
  lines: { [legend]: expression },
});
const quantiles = (title: string, histogram: string, matchers = HERE): Panel => ({
  title,
  unit: "s",
  lines: {
    "half within": quantile(0.5, histogram, [], matchers),
    "90 % within": quantile(0.9, histogram, [], matchers),
    "99 % within": quantile(0.99, histogram, [], matchers),
  },
});

const share = (failed: string) =>
  `sum(rate(${HTTP}_count{${failed},${HERE}}[$__rate_interval])) / sum(rate(${HTTP}_count{${HERE}}[$__rate_interval]))`;

/** Is all well, and if not, where? */
const overview = dashboard("tidings-overview", "Tidings: overview", {
  Requests: [
    each("Requests a second, by status", "reqps", "{{status}}", rate(`${HTTP}_count`, "status")),
    {
      title: "Share that failed",
      unit: "percentunit",
      lines: { "on our side": share('status=~"5.."'), "the caller's": share('status=~"4.."') },
    },
    quantiles("Time of a request", HTTP),
    each("Slowest routes: 99 % within", "s", "{{route}}", `topk(10, ${quantile(0.99, HTTP, ["route"])})`),
    each(
      "Writes with an Idempotency-Key a second",
      "reqps",
      "{{outcome}}",
      rate("tidings_idempotency_keys_total", "outcome"),
    ),
    each(
      "Pages of lists a second, by how they are asked for",
      "reqps",
      "{{by}}",
      rate("tidings_list_pages_total", "by"),
    ),
  ],
  "What comes of it": [
    each(
      "Oldest event in an outbox",
      "s",
      "{{process}}",
      highest("tidings_outbox_oldest_seconds", "process"),
    ),
    each(
      "Oldest event of a consumer",
      "s",
      "{{durable}}",
      highest("tidings_consumer_oldest_seconds", "durable"),
    ),
    each(
      "Oldest job that is due",
      "s",
      "{{process}} {{kind}}",
      highest("tidings_jobs_overdue_seconds", "process, kind"),
    ),
    {
      title: "Given up",
      unit: "short",
      lines: {
        "events, {{durable}}": highest("tidings_dead_letters_kept", "durable"),
        "jobs, {{kind}}": highest("tidings_jobs_set_aside", "kind"),
        "unknown, {{kind}}": highest("tidings_jobs_unknown", "kind"),
      },
    },
  ],
  Processes: [
    each("Ready", "short", "{{process}}", `sum by (process) (tidings_ready{${HERE}})`),
    each("CPU", "short", "{{process}}", rate("process_cpu_seconds_total", "process")),
    each(
      "Resident memory, the largest replica",
      "bytes",
      "{{process}}",
      highest("process_resident_memory_bytes", "process"),
    ),
    each(
      "Event loop at work, the busiest replica",
      "percentunit",
      "{{process}}",
      `max by (process) (rate(tidings_event_loop_busy_seconds_total{${HERE}}[$__rate_interval]))`,
    ),
  ],
});

/** One process, replica by replica. */
const service = dashboard("tidings-service", "Tidings: a service", {
  Calls: [
    each("Calls a second, by what came of them", "reqps", "{{code}}", rate(`${RPC}_count`, "code", OF_IT)),
    quantiles("Time of a call", RPC, OF_IT),
    each("Busiest methods", "reqps", "{{method}}", `topk(10, ${rate(`${RPC}_count`, "method", OF_IT)})`),
    each(
      "Slowest methods: 99 % within",
      "s",
      "{{method}}",
      `topk(10, ${quantile(0.99, RPC, ["method"], OF_IT)})`,
    ),
  ],
  "Of each replica": [
    {
      title: "Connections to the database",
      unit: "short",
      lines: {
        "{{pod}} {{state}}": `tidings_database_connections{${OF_IT}}`,
        "{{pod}} at most": `tidings_database_connections_max{${OF_IT}}`,
        "{{pod}} waiting": `tidings_database_waiting{${OF_IT}}`,
      },
    },
    each(
      "Event loop at work",
      "percentunit",
      "{{pod}}",
      `rate(tidings_event_loop_busy_seconds_total{${OF_IT}}[$__rate_interval])`,
    ),
    each(
      "Log lines dropped a second",
      "short",
      "{{pod}}",
      `rate(tidings_log_lines_dropped_total{${OF_IT}}[$__rate_interval])`,
    ),
    each(
      "Event loop late: 99 % within",
      "s",
      "{{pod}}",
      quantile(0.99, "tidings_event_loop_delay_seconds", ["pod"], OF_IT),
    ),
    {
      title: "Memory",
      unit: "bytes",
      lines: {
        "{{pod}} resident": `process_resident_memory_bytes{${OF_IT}}`,
        "{{pod}} heap": `nodejs_heap_size_used_bytes{${OF_IT}}`,
      },
    },
    each(
      "Collecting garbage",
      "percentunit",
      "{{pod}}",
      rate("nodejs_gc_duration_seconds_sum", "pod", OF_IT),
    ),
    each("CPU", "short", "{{pod}}", `rate(process_cpu_seconds_total{${OF_IT}}[$__rate_interval])`),
    {
      title: "Ready, leads, is connected",
      unit: "short",
      lines: {
        "{{pod}} is ready": `tidings_ready{${OF_IT}}`,
        "{{pod}} leads {{of}}": `tidings_leader{${OF_IT}}`,
        "{{pod}} has NATS": `tidings_bus_connected{${OF_IT}}`,
      },
    },
    each("What it cannot look up", "short", "{{pod}} {{source}}", `tidings_scrape_source_up{${OF_IT}} == 0`),
  ],
});

const events = dashboard("tidings-events-and-jobs", "Tidings: events and jobs", {
  Outboxes: [
    each(
      "Events published a second",
      "short",
      "{{process}}",
      rate("tidings_outbox_published_total", "process", OF_IT),
    ),
    each(
      "Events that wait",
      "short",
      "{{process}}",
      highest("tidings_outbox_waiting_events", "process", OF_IT),
    ),
    each("Age of the oldest", "s", "{{process}}", highest("tidings_outbox_oldest_seconds", "process", OF_IT)),
    each(
      "Held by open transactions",
      "short",
      "{{process}}",
      highest("tidings_outbox_held_events", "process", OF_IT),
    ),
  ],
  Consumers: [
    each(
      "Messages to be delivered",
      "short",
      "{{durable}}",
      highest("tidings_consumer_pending_messages", "durable"),
    ),
    each(
      "Messages to be acknowledged",
      "short",
      "{{durable}}",
      highest("tidings_consumer_ack_pending_messages", "durable"),
    ),
    each("Age of the oldest", "s", "{{durable}}", highest("tidings_consumer_oldest_seconds", "durable")),
    each(
      "From commit to effect: 99 % within",
      "s",
      "{{durable}}",
      quantile(0.99, "tidings_consumer_event_age_seconds", ["durable"]),
    ),
    each(
      "Batches that failed, a second",
      "short",
      "{{durable}}: {{cause}}",
      rate("tidings_consumer_failures_total", "durable, cause"),
    ),
    {
      title: "Dead letters",
      unit: "short",
      lines: {
        "{{durable}}": highest("tidings_dead_letters_kept", "durable"),
        "{{durable}}, new: {{reason}}": `sum by (durable, reason) (increase(tidings_dead_letters_total{${HERE}}[$__rate_interval]))`,
      },
    },
    each(
      "Projections being made",
      "short",
      "{{process}}",
      highest("tidings_projections_building", "process", OF_IT),
    ),
  ],
  Jobs: [
    each("Open", "short", "{{process}} {{kind}}", highest("tidings_jobs_open", "process, kind", OF_IT)),
    each(
      "Webhooks that fail and are told later",
      "short",
      "webhooks",
      `max(tidings_webhooks_deferred{${HERE}})`,
    ),
    each(
      "How long the first has been due",
      "s",
      "{{process}} {{kind}}",
      highest("tidings_jobs_overdue_seconds", "process, kind", OF_IT),
    ),
    each(
      "Attempts a second",
      "short",
      "{{kind}}: {{outcome}}",
      rate("tidings_job_duration_seconds_count", "kind, outcome", OF_IT),
    ),
    each(
      "Time of an attempt: 99 % within",
      "s",
      "{{kind}}",
      quantile(0.99, "tidings_job_duration_seconds", ["kind"], OF_IT),
    ),
    {
      title: "Given up",
      unit: "short",
      lines: {
        "{{process}} {{kind}}": highest("tidings_jobs_set_aside", "process, kind", OF_IT),
        "{{process}} {{kind}}, unknown": highest("tidings_jobs_unknown", "process, kind", OF_IT),
        "{{kind}}, cancelled by callers": `sum by (kind) (increase(tidings_jobs_cancelled_total{${OF_IT}}[$__rate_interval]))`,
        "{{kind}}, new: {{reason}}": `sum by (kind, reason) (increase(tidings_jobs_set_aside_total{${OF_IT}}[$__rate_interval]))`,
      },
    },
  ],
});

const ATTEMPT = "tidings_delivery_attempt_duration_seconds";
/** Visitors, and what they do. */
const publicWeb = dashboard("tidings-public-web", "Tidings: public web", {
  Visitors: [
    each("Hits a second, by verdict", "reqps", "{{verdict}}", rate("tidings_hits_total", "verdict")),
    {
      title: "Hits committed together",
      unit: "short",
      lines: {
        "half up to": quantile(0.5, "tidings_hit_group_size"),
        "99 % up to": quantile(0.99, "tidings_hit_group_size"),
      },
    },
    each(
      "Refused a second, by kind and reason",
      "reqps",
      "{{kind}} {{reason}}",
      rate("tidings_public_refusals_total", "kind, reason"),
    ),
  ],
  Sending: [
    each(
      "Attempts of sends a second, by lane and what became of them",
      "reqps",
      "{{lane}} {{state}}",
      rate("tidings_sends_total", "lane, state"),
    ),
    each(
      "Mails handed over a second, by transport and outcome",
      "reqps",
      "{{transport}} {{outcome}}",
      rate("tidings_mail_hand_overs_total", "transport, outcome"),
    ),
    each(
      "Text messages, tweets and notifications handed over a second, by channel and outcome",
      "reqps",
      "{{channel}} {{transport}} {{outcome}}",
      rate("tidings_text_hand_overs_total", "channel, transport, outcome"),
    ),
    each(
      "Opens of mails and clicks in unread ones a second, by verdict",
      "reqps",
      "{{by}} {{verdict}}",
      rate("tidings_mail_opens_total", "by, verdict"),
    ),
    {
      title: "Sends that wait, by lane",
      unit: "short",
      lines: {
        "{{lane}}": highest("tidings_sends_waiting", "lane"),
        "{{lane}} for more than 30 s": highest("tidings_sends_deferred", "lane"),
      },
    },
    each(
      "How long the first has been due",
      "s",
      "{{lane}}",
      highest("tidings_sends_overdue_seconds", "lane"),
    ),
    {
      title: "Sends that are handed over, unknown, or paused",
      unit: "short",
      lines: {
        "handed over now": `max(tidings_sends_started{${HERE}})`,
        unknown: `max(tidings_sends_unknown{${HERE}})`,
        "paused broadcasts": `max(tidings_broadcasts_paused{${HERE}})`,
        "held after a restore": `max(tidings_sends_held{${HERE}})`,
        "domains held back": `max(tidings_mail_domains_held_back{${HERE}})`,
      },
    },
    {
      title: "While the contact service is away",
      unit: "short",
      lines: {
        "attempts a second that ended": `sum(rate(tidings_sends_unasked_total{${HERE}}[$__rate_interval]))`,
        "unsubscribes and bounces to pass on": `max(tidings_send_refusals_waiting{${HERE}})`,
      },
    },
    each(
      "Bounces, complaints and deliveries that providers report a second",
      "reqps",
      "{{provider}} {{kind}}",
      rate("tidings_mail_feedback_total", "provider, kind"),
    ),
    each(
      "News of text messages and replies that providers report a second",
      "reqps",
      "{{provider}} {{kind}}",
      rate("tidings_text_feedback_total", "provider, kind"),
    ),
    each(
      "Items of callbacks that changed nothing a second, by provider and why",
      "reqps",
      "{{provider}} {{outcome}}",
      rate("tidings_callback_items_total", "provider, outcome"),
    ),
    each(
      "Callbacks refused a second, by provider and reason",
      "reqps",
      "{{provider}} {{reason}}",
      rate("tidings_callbacks_refused_total", "provider, reason"),
    ),
    each(
      "Mails of the inbox a second, by kind",
      "reqps",
      "{{kind}}",
      rate("tidings_inbox_mails_total", "kind"),
    ),
    {
      title: "Looks into the inbox, and mails that somebody has to look at, a second",
      unit: "reqps",
      lines: {
        "polls: {{outcome}}": rate("tidings_inbox_polls_total", "outcome"),
        "flagged: {{reason}}": rate("tidings_inbox_set_aside_total", "reason"),
      },
    },
  ],
  "Focus items and videos": [
    each(
      "Views and clicks of focus items a second, by verdict",
      "reqps",
      "{{type}} {{verdict}}",
      rate("tidings_focus_events_total", "type, verdict"),
    ),
    each(
      "Reports of video players a second, by verdict",
      "reqps",
      "{{verdict}}",
      rate("tidings_video_reports_total", "verdict"),
    ),
  ],
  "Forms and downloads": [
    each(
      "Submissions of forms a second, by outcome",
      "reqps",
      "{{outcome}}",
      rate("tidings_submissions_total", "outcome"),
    ),
    each(
      "Downloads of assets a second, by outcome",
      "reqps",
      "{{outcome}}",
      rate("tidings_asset_downloads_total", "outcome"),
    ),
  ],
  "While the database is away": [
    each("Hits on disk", "bytes", "{{process}}", highest("tidings_hit_spill_bytes", "process")),
    each(
      "Hits that went to disk, a second",
      "reqps",
      "{{process}}",
      rate("tidings_hits_spilled_total", "process"),
    ),
    each("Hits that were lost, a second", "reqps", "{{process}}", rate("tidings_hits_lost_total", "process")),
  ],
});

const webhooks = dashboard("tidings-webhooks", "Tidings: webhooks", {
  Deliveries: [
    each(
      "Attempts a second, by what came of them",
      "short",
      "{{result}}",
      rate(`${ATTEMPT}_count`, "result"),
    ),
    each("Time that receivers take: 99 % within", "s", "{{result}}", quantile(0.99, ATTEMPT, ["result"])),
    quantiles("From its planning to its receiver", "tidings_delivery_age_seconds"),
    each("Waiting, due or not", "short", "deliveries", `max(tidings_deliveries_waiting{${HERE}})`),
    each(
      "How long the first has been due",
      "s",
      "deliveries",
      `max(tidings_deliveries_overdue_seconds{${HERE}})`,
    ),
    each(
      "Given up",
      "short",
      "{{result}}",
      `sum by (result) (increase(tidings_deliveries_given_up_total{${HERE}}[$__rate_interval]))`,
    ),
  ],
  "Before them": [
    each(
      "Fan-out: age of the oldest event",
      "s",
      "{{durable}}",
      highest("tidings_consumer_oldest_seconds", "durable", `${HERE},durable=~"webhook-fan-out.*"`),
    ),
    each(
      "Fan-out: from commit to plan, 99 % within",
      "s",
      "{{durable}}",
      quantile(
        0.99,
        "tidings_consumer_event_age_seconds",
        ["durable"],
        `${HERE},durable=~"webhook-fan-out.*"`,
      ),
    ),
    each("Who leads the fan-out", "short", "{{pod}}", `tidings_leader{${HERE},of="fan-out"}`),
  ],
});

/** Every dashboard by the name of its file. */
export const dashboards: Record<string, Dashboard> = {
  "overview.json": overview,
  "service.json": service,
  "events-and-jobs.json": events,
  "public-web.json": publicWeb,
  "webhooks.json": webhooks,
};

export function dashboardText(shown: Dashboard): string {
  return `${JSON.stringify(shown, null, 2)}\n`;
}
