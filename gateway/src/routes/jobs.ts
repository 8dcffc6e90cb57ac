import { create } from "@bufbuild/protobuf";
import { type Job, JobSchema, JobService } from "@tidings/proto/tidings/api/v1/job";
import { choices } from "@tidings/proto/tidings/api/v1/options";
import { ConditionSchema } from "@tidings/proto/tidings/type/v1/list";
import type { RpcClient } from "@tidings/rpc/client";
import { badRequest, Code, Fault, notFound } from "@tidings/rpc/fault";
import { optionOf } from "@tidings/rpc/option";
import { type ListLimits, type ListParameters, readListParameters } from "../rest/list-query.ts";
import { ID_MAX } from "../rest/path-id.ts";
import type { Query } from "../rest/query.ts";
import { type Lister, listAnswer, messageAnswer } from "../route/answer.ts";
import { uuid } from "../route/parameter.ts";
import { LIST_PARAMETERS, type QueryForm, type QueryParameter } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import type { RoutesContext } from "./routes-context.ts";

/** The processes that have jobs which callers see: those whose schema has a table `job_records`. */
export const JOB_OWNERS = ["contact", "content", "campaign"];
/** The most rows that each owner is asked for: pages further behind are found by cursor. */
const BEHIND_MAX = 10_000;
const PAGE_MAX = 500;

const STATES = optionOf(JobSchema.field.state, choices);
const FILTERS: (QueryParameter & { column: string; isValid(text: string): boolean })[] = [
  {
    name: "kind",
    column: "kind",
    description: "Jobs of this kind: `segment_build`",
    schema: { type: "string", maxLength: 60 },
    isValid: (text) => text.length <= 60,
  },
  {
    name: "state",
    column: "state",
    description: "Jobs in this state",
    schema: { type: "string", enum: STATES },
    isValid: (text) => STATES.includes(text),
  },
  {
    name: "subjectId",
    column: "subject_id",
    description:
      "Jobs about the entity with this id; of one `kind`, since ids of different resources are alike",
    schema: { type: "integer", minimum: 1, maximum: ID_MAX },
    isValid: (text) => /^\d{1,10}$/.test(text) && Number(text) <= ID_MAX,
  },
];
const PAGING = ["start", "limit", "cursor", "count", "select[]"];

/** Work that takes longer than a request, wherever it is done. */
export function jobRoutes({ clients, limits }: RoutesContext): Route[] {
  const owners = JOB_OWNERS.map((owner) => clients.in(owner, JobService));
  const parameters = { id: uuid("Id of a job") };
  const answer = messageAnswer<Job>("job", JobSchema);
  const rpc = JobService.method;
  return [
    route({
      method: "GET",
      path: "/jobs",
      summary: "List jobs, the latest first",
      rpc: rpc.listJobs,
      query: jobsQuery({ ...limits, limitMax: Math.min(limits.limitMax, PAGE_MAX) }),
      answer: listAnswer({ many: "jobs", shape: "array", total: "int" }, JobSchema),
      handle: ({ query: parameters, exchange }) => ({
        parameters,
        list: listerOf(owners, (position) => {
          exchange.next = position;
        }),
      }),
    }),
    route({
      method: "GET",
      path: "/jobs/:id",
      summary: "Get how far a job is",
      rpc: rpc.getJob,
      parameters,
      answer,
      handle: ({ parameters, options }) => found(owners, (owner) => owner.getJob(parameters, options)),
    }),
    route({
      method: "POST",
      path: "/jobs/:id/cancel",
      summary: "End a job; what it did stays",
      rpc: rpc.cancelJob,
      parameters,
      answer,
      errors: [409],
      handle: ({ parameters, options }) => found(owners, (owner) => owner.cancelJob(parameters, options)),
    }),
  ];
}

type Owner = RpcClient<typeof JobService>;

/** A page of the jobs of all owners: the latest of each, then the latest of them. Ids are in the order of time. */
function listerOf(owners: Owner[], showNext: (position: string) => void): Lister {
  return async (query, options) => {
    const { skip, pageSize } = query;
    // The last one is not shown: it says that a page follows.
    const asked = { ...query, skip: 0, pageSize: skip + pageSize + 1 };
    const pages = await Promise.all(owners.map((owner) => owner.listJobs({ query: asked }, options)));
    const jobs = pages
      .flatMap(({ jobs }) => jobs)
      .sort((one, other) => (one.id < other.id ? 1 : -1))
      .slice(skip);
    const items = jobs.slice(0, pageSize);
    const last = items.at(-1);
    if (last && jobs.length > pageSize) showNext(last.id);
    return { items, ids: [], totalSize: pages.reduce((sum, { totalSize }) => sum + totalSize, 0) };
  };
}

/** The job that one of the owners has. While one is away, a job that no other has is not known to be missing. */
async function found(
  owners: Owner[],
  ask: (owner: Owner) => Promise<{ job?: Job | undefined }>,
): Promise<Job> {
  const answers = await Promise.allSettled(owners.map(ask));
  const failures: unknown[] = [];
  for (const answer of answers) {
    if (answer.status === "fulfilled" && answer.value.job) return answer.value.job;
    if (answer.status === "rejected" && !isMissing(answer.reason)) failures.push(answer.reason);
  }
  throw failures[0] ?? notFound();
}

function isMissing(error: unknown): boolean {
  return error instanceof Fault && error.code === Code.NOT_FOUND;
}

/** Pages, and the filters of jobs. */
function jobsQuery(limits: ListLimits): QueryForm<ListParameters> {
  const paging = LIST_PARAMETERS.filter(({ name }) => PAGING.includes(name));
  return {
    parameters: [
      ...FILTERS.map(({ name, description, schema }) => ({ name, description, schema })),
      ...paging,
    ],
    read({ start, limit, cursor, count, select, ...filters }) {
      const parameters = readListParameters({ start, limit, cursor, count, select }, limits);
      if (parameters.query.skip > BEHIND_MAX)
        throw badRequest(`start may be at most ${BEHIND_MAX}. Pages further behind are found by cursor=.`);
      parameters.query.where = FILTERS.flatMap((filter) => conditionOf(filter, filters));
      return parameters;
    },
  };
}

function conditionOf({ name, column, isValid }: (typeof FILTERS)[number], { [name]: sent }: Query) {
  if (sent === undefined || sent === "") return [];
  if (typeof sent !== "string" || !isValid(sent)) throw badRequest(`${name} is not valid.`);
  return [create(ConditionSchema, { column, expr: "eq", values: [sent] })];
}
