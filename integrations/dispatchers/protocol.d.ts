// The lines that a dispatcher reads and writes, as JSON: version 1 of docs/DISPATCHERS.md.
// Floors are labels, lengths metres, times seconds.

type Direction = 'up' | 'down';

/** The first line that it reads. It answers with a Greeting. */
interface Hello {
  version: number;
  floors: { floor: string; height_m: number }[];
  motion: {
    speed_m_s: number;
    acceleration_m_s2: number;
    jerk_m_s3: number;
    door_opening_s: number;
    door_closing_s: number;
    /** How long the door stays open after the last passenger. */
    dwell_s: number;
    /** For one passenger. */
    transfer_s: number;
  };
}

interface Greeting {
  version: 1;
}

/** Each later line that it reads. It answers with an Answer. */
interface Request {
  plan: number;
  time_s: number;
  cars: Car[];
  calls: Call[];
}

interface Car {
  car: string;
  /** Calls can be given to it. */
  in_service: boolean;
  /** Where it is, or which floor it last passed; null until it has found one. */
  floor: string | null;
  moving: Direction | null;
  /** Where it stops next, and the nearest floor at which it still can; null at rest. */
  stop_at: string | null;
  next_stop: string | null;
  /** In which direction it collects calls; null if it may turn either way. */
  direction: Direction | null;
  door: 'closed' | 'opening' | 'open' | 'closing';
  /** How long it has been moving, standing, or opening its door. */
  phase_s: number;
  /** Of the rated load; null if unknown. */
  load_percent: number | null;
  /** Its car calls. */
  stops: string[];
  /** The floors at which it can stop. */
  floors: string[];
}

interface Call {
  /** Its name: 'hall-2-up'. */
  call: string;
  floor: string;
  side: 'front' | 'rear';
  direction: Direction;
  /** The destination, if it was given at the landing. */
  to: string | null;
  /** Since it was placed. */
  age_s: number;
  /** The car that it has. */
  car: string | null;
  /** The cars that can serve it. */
  cars: string[];
}

interface Answer {
  /** That of the request. */
  plan: number;
  /** A car for each call by its name. Null, or left out: none. */
  cars: { [call: string]: string | null };
}
