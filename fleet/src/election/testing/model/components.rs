//! Where a fair run may stay for ever.

use std::collections::BTreeMap;

use super::calm::Edge;

pub(super) const NOWHERE: u32 = u32::MAX;

/// A component in which a fair run may stay for ever, and that has a state that is not right.
pub(super) fn find_wrong(edges: &[Vec<Edge>], is_right: &[bool]) -> Option<Vec<u32>> {
    let mut search = Search::new(edges);
    let all = (0..edges.len()).filter_map(|state| u32::try_from(state).ok()).collect();
    let mut open = vec![search.mark(all)];
    while let Some(region) = open.pop() {
        for component in search.split(&region) {
            let component = search.mark(component);
            if search.remove_exits(&component) {
                open.push(component);
            } else if component.iter().any(|state| !is_right[*state as usize])
                && search.is_fair(edges, &component)
            {
                return Some(component);
            }
        }
    }
    None
}

/// The graph while it falls apart.
#[derive(Debug)]
struct Search {
    /// Without those that are known to leave their component, whatever is drawn or with some draw.
    edges: Vec<Vec<Edge>>,
    /// The part of the graph that each state is in.
    region: Vec<u32>,
    regions: u32,
    visits: Vec<Visit>,
    /// The states that were visited, and belong to no component yet.
    stack: Vec<u32>,
}

/// What Tarjan's algorithm knows about a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Visit {
    order: u32,
    lowest: u32,
    is_on_stack: bool,
}

impl Visit {
    const NEVER: Self = Self { order: NOWHERE, lowest: NOWHERE, is_on_stack: false };
}

impl Search {
    fn new(edges: &[Vec<Edge>]) -> Self {
        Self {
            edges: edges.to_vec(),
            region: vec![NOWHERE; edges.len()],
            regions: 0,
            visits: vec![Visit::NEVER; edges.len()],
            stack: Vec::new(),
        }
    }

    /// Makes a region of these states.
    fn mark(&mut self, states: Vec<u32>) -> Vec<u32> {
        for state in &states {
            self.region[*state as usize] = self.regions;
        }
        self.regions += 1;
        states
    }

    fn is_inside(&self, from: u32, to: u32) -> bool {
        to != NOWHERE && self.region[from as usize] == self.region[to as usize]
    }

    /// Removes the acts that leave the component, at least with some draw. Returns whether edges
    /// within it have gone with them.
    fn remove_exits(&mut self, component: &[u32]) -> bool {
        let mut has_changed = false;
        for &state in component {
            let before = std::mem::take(&mut self.edges[state as usize]);
            let leaves = |edge: &&Edge| !self.is_inside(state, edge.to);
            let exits: Vec<u32> = before.iter().filter(leaves).map(|edge| edge.act).collect();
            let (kept, gone): (Vec<Edge>, Vec<Edge>) =
                before.into_iter().partition(|edge| !exits.contains(&edge.act));
            has_changed |= gone.iter().any(|edge| self.is_inside(state, edge.to));
            self.edges[state as usize] = kept;
        }
        has_changed
    }

    /// Whether nothing that can happen in every state of the component is put off for ever.
    fn is_fair(&self, all: &[Vec<Edge>], component: &[u32]) -> bool {
        // In how many states each act can happen, and whether it does.
        let mut acts: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
        for &state in component {
            let mut last = NOWHERE;
            for edge in &all[state as usize] {
                if edge.act != last {
                    last = edge.act;
                    acts.entry(last).or_default().0 += 1;
                }
            }
            for edge in &self.edges[state as usize] {
                acts.entry(edge.act).or_default().1 = true;
            }
        }
        acts.values().all(|(states, happens)| *happens || *states < component.len())
    }

    /// The strongly connected components of a region, by Tarjan's algorithm.
    fn split(&mut self, region: &[u32]) -> Vec<Vec<u32>> {
        for state in region {
            self.visits[*state as usize] = Visit::NEVER;
        }
        let mut components = Vec::new();
        let mut order = 0;
        for &root in region {
            let mut path: Vec<(u32, usize)> = Vec::new();
            if self.visits[root as usize] == Visit::NEVER {
                path.push((root, 0));
            }
            while let Some((state, at)) = path.pop() {
                if at == 0 {
                    self.visits[state as usize] = Visit { order, lowest: order, is_on_stack: true };
                    self.stack.push(state);
                    order += 1;
                }
                if let Some((at, deeper)) = self.advance(state, at) {
                    path.push((state, at));
                    path.push((deeper, 0));
                    continue;
                }
                components.extend(self.close(state));
                if let Some((parent, _)) = path.last() {
                    self.lower(*parent, self.visits[state as usize].lowest);
                }
            }
        }
        components
    }

    /// Follows the edges of a state from this one on to one that was not visited yet.
    fn advance(&mut self, state: u32, from: usize) -> Option<(usize, u32)> {
        let mut at = from;
        while let Some(edge) = self.edges[state as usize].get(at).copied() {
            at += 1;
            if self.is_inside(state, edge.to) {
                let seen = self.visits[edge.to as usize];
                if seen == Visit::NEVER {
                    return Some((at, edge.to));
                }
                if seen.is_on_stack {
                    self.lower(state, seen.order);
                }
            }
        }
        None
    }

    fn lower(&mut self, state: u32, to: u32) {
        let visit = &mut self.visits[state as usize];
        visit.lowest = visit.lowest.min(to);
    }

    /// The component that was entered through this state, if it is the first of one.
    fn close(&mut self, state: u32) -> Option<Vec<u32>> {
        let Visit { order, lowest, .. } = self.visits[state as usize];
        if lowest < order {
            return None;
        }
        let mut component = Vec::new();
        while let Some(last) = self.stack.pop() {
            self.visits[last as usize].is_on_stack = false;
            component.push(last);
            if last == state {
                break;
            }
        }
        Some(component)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph by its edges, as (from, act, to); which states are right; whether a wrong component
    /// is found.
    fn finds(edges: &[(usize, u32, u32)], is_right: &[bool]) -> Option<Vec<u32>> {
        let mut graph = vec![Vec::new(); is_right.len()];
        for &(from, act, to) in edges {
            graph[from].push(Edge { act, to });
        }
        for edges in &mut graph {
            edges.sort_unstable();
        }
        let mut found = find_wrong(&graph, is_right)?;
        found.sort_unstable();
        Some(found)
    }

    #[test]
    fn what_a_fair_run_stays_in_is_found_if_it_is_wrong() {
        let circle = [(0, 0, 1), (1, 1, 0)];
        let three = [(0, 0, 1), (1, 1, 2), (2, 2, 0)];
        let with = |edges: &[(usize, u32, u32)], more: &[_]| [edges, more].concat();
        let left = with(&circle, &[(0, 2, 2)]);
        let drawn = [(0, 0, 1), (0, 0, 3), (1, 1, 2), (2, 2, 1), (2, 3, 0)];
        let end = [false, false, true];
        let others = [true, false, true, true];
        for (what, edges, is_right, found) in [
            ("a wrong end", vec![(0, 0, 1)], &[false, false][..], Some(vec![1])),
            ("a right end", vec![(0, 0, 1)], &[false, true], None),
            ("left by what can always happen", with(&left, &[(1, 2, 2)]), &end, None),
            ("not by what can happen at times", left.clone(), &end, Some(vec![0, 1])),
            ("one wrong state", three.to_vec(), &[true, false, true], Some(vec![0, 1, 2])),
            ("all are right", three.to_vec(), &[true; 3], None),
            ("what is put off", vec![(0, 0, 0), (0, 1, 1), (1, 0, 1)], &[false, true], None),
            ("nothing is put off", vec![(0, 0, 0)], &[false], Some(vec![0])),
            ("left by what waits in a part of it", with(&left, &[(1, 2, NOWHERE)]), &end, None),
            ("left by a draw", vec![(0, 0, 1), (0, 0, 2), (1, 1, 0)], &end, None),
            ("no draw leaves", with(&circle, &[(1, 1, 0)]), &[false; 2], Some(vec![0, 1])),
            // Without the first act, which a draw takes out, the rest is two components.
            ("the rest of a draw", drawn.to_vec(), &others, Some(vec![1, 2])),
            ("the rest is left, too", with(&drawn, &[(1, 3, 0)]), &others, None),
        ] {
            assert_eq!(finds(&edges, is_right), found, "{what}");
        }
    }
}
