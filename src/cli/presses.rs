use clap::Args;
use elevator_fleet::model::Call;
use liftmesh_api::{PressFate, PressStatus, Presses};

use super::{CommandError, NodeArgs, PageArgs, output};

pub(super) const EXAMPLES: &str = "\
Example:
  liftmesh presses --json --data-dir /var/lib/liftmesh | jq 'select(.fate == \"refused\")'

A node remembers the last 512 button presses of its panel until it stops; pressing the same button
again with the same result adds to the count of its latest press. Orders from programs and operators
are not listed. Run it as the node's user: presses reveal who went where.";

#[derive(Debug, Clone, Args)]
pub(crate) struct PressesArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

impl PressesArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let Presses { presses, forgotten } = self.node.connect()?.presses()?;
        let latest = self.page.latest(&presses);
        let before = match forgotten {
            0 => String::new(),
            count => format!("{count} earlier ones are no longer kept\n"),
        };
        if self.page.json {
            output::print(&latest.iter().map(output::json_line).collect::<String>())?;
            output::remark(&before);
        } else {
            output::print(&[page(latest)?, before].concat())?;
        }
        Ok(())
    }
}

pub(super) fn page(presses: &[PressStatus]) -> Result<String, CommandError> {
    if presses.is_empty() {
        return Ok("no presses\n".to_owned());
    }
    let row = |press: &PressStatus| {
        let call = Call::try_from(&press.call)?.to_string();
        let often = match &press.last {
            Some(last) => format!("{} times, last at {last}", press.times),
            None => String::new(),
        };
        Ok([press.at.clone(), call, what(&press.fate), often])
    };
    let rows = presses.iter().map(row).collect::<Result<Vec<_>, CommandError>>()?;
    Ok(output::table(["time (UTC)", "button", "result", "repeated"], rows))
}

fn what(fate: &PressFate) -> String {
    match fate {
        PressFate::Open { promised: false } => "open, not promised yet".to_owned(),
        PressFate::Open { promised: true } => "open, promised".to_owned(),
        PressFate::Served { car, waited } => {
            let by = car.as_ref().map(|car| format!(" by {car}")).unwrap_or_default();
            format!("served{by} after {:.1} s", waited.0.as_secs_f64())
        }
        PressFate::Dropped => "dropped: fire recall".to_owned(),
        PressFate::Absorbed => "kept the door open".to_owned(),
        PressFate::Command => "drove the car".to_owned(),
        PressFate::Cancelled => "cancelled the call".to_owned(),
        PressFate::Refused { reason } => format!("refused: {reason}"),
    }
}
