/** A panel of lines over time: expressions of PromQL by what their lines are called. */
export interface Panel {
  title: string;
  unit: "s" | "reqps" | "percentunit" | "bytes" | "short";
  lines: Record<string, string>;
}

/** As Grafana reads it; the rest of its members have no say here. */
export interface Dashboard {
  uid: string;
  title: string;
  panels: { title: string; targets?: { expr: string }[] }[];
}

const WIDTH = 24;
const HEIGHT = 8;
const A_ROW = 3;
const DATA_SOURCE = { type: "prometheus", uid: "$datasource" };

const COMMON = {
  tags: ["tidings"],
  schemaVersion: 39,
  editable: false,
  refresh: "30s",
  time: { from: "now-3h", to: "now" },
  templating: { list: [dataSource(), choice("namespace"), choice("process")] },
};

/** A dashboard of rows of panels, three beside each other, for one namespace and some processes of it. */
export function dashboard(uid: string, title: string, rows: Record<string, Panel[]>): Dashboard {
  const panels: Dashboard["panels"] = [];
  let y = 0;
  for (const [rowTitle, members] of Object.entries(rows)) {
    panels.push(
      place({ type: "row", title: rowTitle, panels: [] }, { x: 0, y, w: WIDTH, h: 1 }, panels.length),
    );
    y += 1;
    members.forEach((panel, index) => {
      const w = WIDTH / A_ROW;
      const position = { x: (index % A_ROW) * w, y: y + Math.floor(index / A_ROW) * HEIGHT, w, h: HEIGHT };
      panels.push(place(graph(panel), position, panels.length));
    });
    y += Math.ceil(members.length / A_ROW) * HEIGHT;
  }
  return {
    uid,
    title,
    ...COMMON,
    panels,
  };
}

function place<P extends { title: string }>(panel: P, gridPos: object, index: number) {
  return { id: index + 1, ...panel, gridPos };
}

function graph({ title, unit, lines }: Panel) {
  return {
    type: "timeseries",
    title,
    datasource: DATA_SOURCE,
    fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 8, lineWidth: 1 } }, overrides: [] },
    options: {
      legend: { displayMode: "list", placement: "bottom" },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: Object.entries(lines).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource: DATA_SOURCE,
      expr,
      legendFormat,
    })),
  };
}

function dataSource() {
  return { type: "datasource", name: "datasource", label: "Prometheus", query: "prometheus" };
}

/** Any values of a label that there are; all at first. */
function choice(label: string) {
  const query = `label_values(tidings_ready, ${label})`;
  const all = { multi: true, includeAll: true, allValue: ".*", current: { text: "All", value: "$__all" } };
  return { type: "query", name: label, label, datasource: DATA_SOURCE, query, refresh: 2, sort: 1, ...all };
}
