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
    /// The states that a split has come to, and that have no component yet.
    visited: Vec<bool>,
}

impl Search {
    fn new(edges: &[Vec<Edge>]) -> Self {
        Self {
            edges: edges.to_vec(),
            region: vec![NOWHERE; edges.len()],
            regions: 0,
            visited: vec![false; edges.len()],
        }
    }

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

    /// The strongly connected components of a region, by Kosaraju's algorithm.
    fn split(&mut self, region: &[u32]) -> Vec<Vec<u32>> {
        let mut left = Vec::new();
        for &root in region {
            let mut path: Vec<(u32, usize)> = self.visit(root).into_iter().collect();
            while let Some((state, at)) = path.pop() {
                let Some(edge) = self.edges[state as usize].get(at).copied() else {
                    left.push(state);
                    continue;
                };
                path.push((state, at + 1));
                if self.is_inside(state, edge.to) {
                    path.extend(self.visit(edge.to));
                }
            }
        }
        let mut sources: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &state in region {
            for edge in self.edges[state as usize].iter().filter(|e| self.is_inside(state, e.to)) {
                sources.entry(edge.to).or_default().push(state);
            }
        }
        let mut components = Vec::new();
        while let Some(root) = left.pop() {
            let (mut component, mut open) = (Vec::new(), vec![root]);
            while let Some(state) = open.pop() {
                if std::mem::take(&mut self.visited[state as usize]) {
                    component.push(state);
                    open.extend(sources.remove(&state).unwrap_or_default());
                }
            }
            if !component.is_empty() {
                components.push(component);
            }
        }
        components
    }

    /// Where to go on with a state, by its edges, if it was not visited yet.
    fn visit(&mut self, state: u32) -> Option<(u32, usize)> {
        let is_visited = std::mem::replace(&mut self.visited[state as usize], true);
        (!is_visited).then_some((state, 0))
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
