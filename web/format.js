// Words and numbers as people read them.

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });

/** A moment (ms since 1970) as a time of the day, `12:34:56`. */
export function timeOfDay(moment) {
  return clock.format(moment);
}

/** A length of time in seconds: `3 s`, `2 min 5 s`, `1 h 4 min`. */
export function duration(seconds) {
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole}\u00a0s`;
  if (whole < 3600) return twoUnits(Math.floor(whole / 60), "min", whole % 60, "s");
  return twoUnits(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
}

function twoUnits(large, largeUnit, small, smallUnit) {
  const text = `${large}\u00a0${largeUnit}`;
  return small === 0 ? text : `${text} ${small}\u00a0${smallUnit}`;
}

/** A short length of time, to a tenth: `0.4 s`. */
export function tenths(seconds) {
  return `${seconds.toFixed(1)}\u00a0s`;
}

export function arrow(direction) {
  return direction === "up" ? "▲" : "▼";
}

export function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

/** The name of a call, as the API has it: `hall-3-up`. */
export function callId(call) {
  const side = call.side === "rear" ? "rear-" : "";
  if (call.kind === "hall") return `${side}hall-${call.floor}-${call.direction}`;
  if (call.kind === "car") return `${side}car-${call.car}-${call.floor}`;
  return `destination-${call.from}-${call.to}`;
}

/** A session as people tell it from others: the first digits are those of the robot's token. */
export function sessionName(id) {
  return id.slice(-8);
}

export function callText(call) {
  const side = call.side === "rear" ? " rear" : "";
  if (call.kind === "hall") return `Hall call, floor ${call.floor}${side} ${call.direction}`;
  if (call.kind === "car") return `Car call, ${call.car} to floor ${call.floor}${side}`;
  return `Trip from floor ${call.from} to ${call.to}`;
}

/** `master`, `slave of A` or `seeking`. */
export function nodeStateText(state) {
  return state.kind === "slave" ? `slave of ${state.master}` : state.kind;
}

/** What a car is doing. */
export function phaseText({ phase }) {
  switch (phase.kind) {
    case "moving":
      return `${capital(phase.direction)} to ${phase.stop_at}`;
    case "homing":
      return "Looking for a floor";
    case "opening":
      return "Door opening";
    case "open":
      return "Door open";
    case "closing":
      return "Door closing";
    case "idle":
      return "Idle";
    default:
      return phase.kind;
  }
}

/** What is wrong with a car that takes no hall calls, or null. One that was sent somewhere is well. */
export function unavailableText({ in_service: isInService, unavailable }) {
  if (isInService || unavailable === "priority") return null;
  return unavailable ? capital(unavailable) : "Not in service";
}

/** The mode that a car has now. Robots get a car in the same way as a priority call does. */
export function carModeText({ mode, mode_set: modeSet, priority, session }) {
  if (mode === "priority" && priority === null && session) return "with a robot";
  return modeText(mode ?? modeSet ?? "in-service");
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A service mode as people say it: `out of service`. */
export function modeText(mode) {
  return mode.replaceAll("-", " ");
}

/** What a mode means; one that is newer than this page has its name only. */
const MODES = {
  "in-service": "hall calls are assigned to it",
  independent: "it serves only car calls, and keeps its door open until the next one",
  attendant: "at each stop it waits until an attendant presses the button of the next floor",
  priority: "it goes to the floor of its priority call, and takes no hall calls until then",
  "emergency-power": "it goes to its recall floor in its turn, and stays there with its door open",
  "fire-service": "a firefighter drives it by its buttons",
  "out-of-service": "it takes its riders to their floors, then stays there with its door closed",
  "fire-recall": "it goes to its recall floor without stopping, and keeps its door open there",
};

export function modeMeaning(mode) {
  return MODES[mode] ?? "";
}

/** How serious an event is: the ranks, from the least. */
export const SEVERITIES = ["routine", "notice", "warning", "alarm"];

const SEVERITY = {
  hung: "alarm",
  disk_failed: "alarm",
  alarm: "alarm",
  peer_lost: "warning",
  repair: "warning",
  taken_over: "warning",
  press_refused: "warning",
  floor_unreachable: "warning",
  drive_refused: "warning",
  off_target: "warning",
  maintenance_due: "warning",
  conflict: "warning",
  dropped: "warning",
  node_state: "notice",
  setting: "notice",
  peer_discovered: "notice",
  synced: "notice",
  availability: "notice",
  panel: "notice",
};

export function severity(event) {
  if (event.event === "alarm" && event.alarm !== "sent") return "notice";
  const isBad =
    (event.event === "availability" && !event.in_service) ||
    (event.event === "panel" && !event.connected);
  if (isBad) return "warning";
  const isHang = event.event === "setting" && event.key.startsWith("hang/") && event.value !== "off";
  return isHang ? "alarm" : (SEVERITY[event.event] ?? "routine");
}

/**
 * The car that an event is about, or null. Events of the car have no name: they are the node's own. The
 * end of a session has none either: who knows the events before it knows its car.
 */
export function carOf(event, node) {
  switch (event.event) {
    case "placed":
    case "promised":
    case "dropped":
      return event.call.car ?? null;
    case "setting":
      return carOfSetting(event);
    case "alarm":
      return event.car;
    case "assigned":
    case "served":
      return event.car ?? event.call.car ?? null;
    case "taken_over":
    case "door":
    case "floor":
    case "availability":
    case "panel":
    case "press_refused":
    case "floor_unreachable":
    case "drive_refused":
    case "off_target":
    case "maintenance_due":
    case "hung":
      return node;
    default:
      return null;
  }
}

/** The car that a record of the audit log is about, or null: what is no command is of its own node. */
export function carOfRecord(record) {
  return record.kind === "setting" ? carOfSetting(record) : record.node;
}

/** The car that a setting is about, or null. */
function carOfSetting(setting) {
  const [kind, subject] = partsOf(setting.key);
  switch (kind) {
    case "mode":
    case "priority":
    case "firefighter":
    case "key":
    case "hang":
    case "alarm":
      return subject;
    case "session": {
      const session = sessionOf(setting);
      return session?.car ?? session?.wish ?? null;
    }
    case "emergency-power":
      return subject === "turn" ? turnOf(setting.value).car : null;
    default:
      return null;
  }
}

/** The session that an event is about: its name, and the car that it has; null if it is about none. */
export function sessionOfEvent(event) {
  return event.event === "setting" ? sessionOf(event) : null;
}

/** The kind and the subject of a setting: `mode/A`. */
function partsOf(key) {
  const [kind, ...rest] = key.split("/");
  return [kind, rest.length === 0 ? null : rest.join("/")];
}

/** The robot's session that a setting is about; null if it is about none. */
function sessionOf({ set }) {
  const session = set?.request?.session;
  if (session === undefined) return null;
  const { id, asked, floor, state } = session;
  return { id, floor, wish: asked.car, car: state.coming ?? state.open ?? null, reason: state.ended ?? null };
}

/** Whose turn it is on emergency power: `B by A`, `B by A serves`, `B done` or `none`. */
function turnOf(value) {
  const [car, word, , serves] = value.split(" ");
  if (word !== "by" && word !== "done") return { car: null, isOver: true, serves: false };
  return { car, isOver: word === "done", serves: serves === "serves" };
}

/** What is due for maintenance: a counter of a car. */
export function wearText(counter) {
  return counter.replaceAll("_", " ");
}

/** An event in a sentence. */
export function eventText(event) {
  switch (event.event) {
    case "node_state":
      return `${capital(nodeStateText(event.from))} → ${nodeStateText(event.to)}, term ${event.term}`;
    case "peer_discovered":
      return `Node ${event.node} discovered at ${event.address}`;
    case "peer_lost":
      return `Node ${event.node} lost`;
    case "synced":
      return `Node ${event.node} synced`;
    case "repair":
      return `Order store differed from node ${event.node} for too long: state transfer`;
    case "placed":
      return `${callText(event.call)}: placed at ${event.origin}`;
    case "promised":
      return `${callText(event.call)}: promised`;
    case "served":
      return `${callText(event.call)}: served${event.car ? ` by ${event.car}` : ""} after ${tenths(event.waited)}`;
    case "dropped":
      return `${callText(event.call)}: dropped because of a fire recall`;
    case "setting":
      return settingText(event);
    case "alarm":
      return `Alarm from car ${event.car}: ${event.alarm === "off" ? "over" : event.alarm}`;
    case "assigned":
      return `${callText(event.call)}: assigned to ${event.car ?? "no car"}`;
    case "taken_over":
      return `${callText(event.call)}: overdue, served by this car as well`;
    case "door":
      return `Door ${event.door}`;
    case "floor":
      return `At floor ${event.floor}`;
    case "availability":
      return event.in_service ? "In service" : `Not in service: ${event.unavailable}`;
    case "panel":
      return event.connected ? "Panel answers" : `Panel lost: ${event.reason}`;
    case "press_refused":
      return `Refused: ${event.text}`;
    case "floor_unreachable":
      return `No sensor signal at floor ${event.floor}: locked out for a while`;
    case "drive_refused":
      return "The drive did not start: trying again";
    case "off_target":
      return `Flight to floor ${event.stop_at} ended ${event.floor === null ? "between floors" : `at floor ${event.floor}`}`;
    case "maintenance_due":
      return `Maintenance is due: ${event.count} ${wearText(event.counter)}`;
    case "conflict":
      return capital(event.text);
    case "hung":
      return `Hung: ${hangText(event)}`;
    case "disk_failed":
      return "The disk has failed: lamps no longer rely on it";
    default:
      return event.event;
  }
}

/** A record of the audit log, without who and why. */
export function recordText({ at, node, program, kind, operator, account, reason, ...fields }) {
  return kind === "setting" ? settingText(fields) : `${kind} ${JSON.stringify(fields)}`;
}

/** A setting in a sentence. Nodes set some of them by themselves: there the operator says nothing. */
function settingText(setting) {
  const { key, value, operator } = setting;
  const by = operator ? `, by ${operator}` : "";
  const [kind, subject] = partsOf(key);
  const isOff = value.split(" ")[0] === "off";
  switch (kind) {
    case "mode":
      return `Mode of car ${subject}: ${modeText(value)}${by}`;
    case "fire-recall":
      return `Fire recall ${isOff ? "ended" : "started"}${by}`;
    case "lock":
      return `Floor ${subject} ${isOff ? "unlocked" : "locked"}${by}`;
    case "priority":
      return `${priorityText(subject, value)}${by}`;
    case "emergency-power":
      if (subject === "turn") return turnText(value);
      if (subject === "cars") return `Emergency power: the fleet has ${plural(Number(value), "car")}`;
      return `${powerText(value)}${by}`;
    case "session":
      return setting.set ? sessionText(setting) : `Session ${sessionName(subject)}: ${value}`;
    case "firefighter":
      return isOff ? `Car ${subject} is no longer under firefighter control` : `Car ${subject} is under firefighter control`;
    case "key":
      return `Key switch of car ${subject}: ${value}`;
    case "alarm":
      return `Alarm from car ${subject}: ${isOff ? "over" : value}${by}`;
    case "hang":
      return isOff ? `Hang of ${subject}: over` : `Car ${subject} hung: its node sent the evidence`;
    case "token":
      return `${tokenText(subject, value)}${by}`;
    default:
      return `${key} is ${value}${by}`;
  }
}

function priorityText(car, value) {
  if (value === "off") return `Priority call of car ${car}: over`;
  const [floor, any] = value.split(" ");
  return `Priority call${any ? " for any car" : ""}: car ${car} goes to floor ${floor}`;
}

function powerText(value) {
  if (value === "off") return "Emergency power ended";
  const [, , car] = value.split(" ");
  return `Emergency power started${car ? `; car ${car} serves once all are down` : ""}`;
}

function turnText(value) {
  const { car, isOver, serves } = turnOf(value);
  if (car === null) return "Emergency power: it is nobody's turn";
  if (isOver) return `Emergency power: car ${car}'s turn is over`;
  return serves ? `Emergency power: car ${car} serves calls` : `Emergency power: it is car ${car}'s turn`;
}

function sessionText(setting) {
  const { id, reason } = sessionOf(setting);
  return `Session ${sessionName(id)}${reason === null ? ": " : " "}${setting.value}`;
}

function tokenText(name, value) {
  return value === "revoked" ? `Token ${name} revoked` : `Token ${name} created, scope ${value.split(" ")[0]}`;
}

/** The evidence of a hang in words. */
export function hangText(hang) {
  const way = `driven ${hang.direction}`;
  const target = hang.floor === null || hang.floor === undefined ? "" : ` to floor ${hang.floor}`;
  const times = `${tenths(hang.actual)}, ${tenths(hang.expected)} allowed`;
  const last = hang.last_sensor ?? null;
  const seen = last === null ? "no floor sensor responded" : `the last sensor was at floor ${last}`;
  if (hang.not_stopped) return `the motor did not stop (${times}); ${seen}`;
  if (hang.flights_off_target) {
    return `${hang.flights_off_target} failed flights in a row, ${way}${target} (${times}); ${seen}`;
  }
  return `${way}${target} without a new sensor (${times}); ${seen}`;
}

/** What to do about a problem, or an empty text. */
export function remedy(problem) {
  switch (problem.code) {
    case "no_connection":
    case "no_answer":
      return "The change may or may not have been made. Check the current state before you try again.";
    case "busy":
      return "Close other panels, or wait a moment and try again.";
    case "rate_limited":
      return "Wait a moment and try again.";
    case "too_many_trips":
      return "Wait until some of the open trips are served.";
    case "nothing_to_clear":
      return "The car's node is running. If the car does not move, check why it is not in service.";
    case "not_found":
    case "unknown_car":
      return "This node does not know that car. See the Fleet page.";
    case "not_here":
      return "Clear the hang on the car's own computer, where its latch is.";
    case "latched":
      return "Clear its hang first.";
    case "floor_locked":
      return "Only calls with a right of access can reach a locked floor. To unlock it, use “Lock floors…” on the Bank page.";
    case "fire_recall":
      return "End the fire recall first.";
    case "not_in_service":
      return "Choose another car, or put this one back into service.";
    case "too_many_settings":
      return "Remove what is no longer needed: modes, priority calls, locks, old tokens.";
    case "tokens_unusable":
    case "not_cleared":
      return "Clear it on the car's computer: see liftmesh clear-hang --help.";
    case "no_journal":
      return "Check the node's disk: see “Without its disk” in docs/OPERATIONS.md.";
    case "read_only":
      return "This panel only shows the fleet. Use the panel of another node.";
    default:
      return problem.needsToken
        ? "Create a token on a node's computer: see liftmesh token create --help."
        : "";
  }
}
