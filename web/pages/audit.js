// The audit log of the node: who has commanded what, and why.
import { Component, html } from "../html.js";
import { carOfRecord, recordText } from "../format.js";
import { Table } from "./fleet.js";

/** So many records are drawn; the log may have 10,000. */
const MOST_SHOWN = 500;

const dateAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

export class AuditPage extends Component {
  state = { records: null, car: "" };

  async componentDidMount() {
    const records = await this.props.model.auditLog();
    if (records !== null) this.setState({ records: records.reverse() });
  }

  render({ model }, { records, car }) {
    const wanted = car.trim().toLowerCase();
    const found = (records ?? []).filter((one) => carOfRecord(one)?.toLowerCase().startsWith(wanted) ?? wanted === "");
    const rows = found.slice(0, MOST_SHOWN).map((record, key) => ({ key, cells: cellsOf(record) }));
    return html`
      <div class="sheet audit">
        <div class="filters">
          <label>
            Car
            <input name="car" size="8" autocomplete="off" onInput=${({ target }) => this.setState({ car: target.value })} />
          </label>
          <p class="fine">The newest ${MOST_SHOWN} records. <code>liftmesh audit --fleet</code> shows the logs of all nodes.</p>
        </div>
        <${Table} title=${`Audit log of node ${model.state.fleet.node}`} columns=${["Time", "What", "Who", "Why", "Where"]} rows=${rows} empty=${records ? "No records of this car." : "The log has not been loaded."} />
      </div>
    `;
  }
}

function cellsOf(record) {
  const { at, node, operator, account, reason, entered_at: place = node } = record;
  const moment = Date.parse(at);
  const by = account && (account.token ? `token ${account.token}` : (account.sudo_user ?? `uid ${account.uid}`));
  return [
    Number.isNaN(moment) ? at : dateAndTime.format(moment),
    recordText(record),
    operator && by ? `${operator} (${by})` : (operator ?? by),
    reason ?? (place === node ? "" : `in the log of node ${place}`),
    place,
  ];
}
