/** A layered layout of a graph: layers by the longest way from a source, order within a layer by the neighbours before and after. */

export type Placed = { readonly id: string; readonly x: number; readonly y: number }
export type Link = { readonly from: string; readonly to: string }

export const NODE = { width: 190, height: 46 }
const GAP = { x: 70, y: 14 }
const SWEEPS = 8

export function layout(ids: readonly string[], links: readonly Link[]): { placed: Map<string, Placed>; width: number; height: number } {
  const after = new Map<string, string[]>(ids.map(id => [id, []]))
  const before = new Map<string, string[]>(ids.map(id => [id, []]))
  for (const { from, to } of acyclic(ids, links)) {
    after.get(from)!.push(to)
    before.get(to)!.push(from)
  }
  const layer = new Map<string, number>()
  const depthOf = (id: string): number => {
    const known = layer.get(id)
    if (known !== undefined) return known
    const depth = Math.max(-1, ...before.get(id)!.map(depthOf)) + 1
    layer.set(id, depth)
    return depth
  }
  for (const id of ids) depthOf(id)
  // A source stands just before the first of its targets, not far from them.
  for (const id of ids)
    if (before.get(id)!.length === 0 && after.get(id)!.length > 0)
      layer.set(id, Math.max(0, Math.min(...after.get(id)!.map(to => layer.get(to)!)) - 1))
  const layers: string[][] = []
  for (const id of ids) (layers[layer.get(id)!] ??= []).push(id)
  const columns = layers.filter(Boolean)
  const place = new Map<string, number>()
  const number = () => {
    for (const column of columns) for (const [i, id] of column.entries()) place.set(id, i / Math.max(1, column.length))
  }
  number()
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const neighbours = sweep % 2 === 0 ? before : after
    for (const column of sweep % 2 === 0 ? columns : [...columns].reverse()) {
      const middle = new Map(
        column.map(id => [
          id,
          mean(
            neighbours.get(id)!.map(one => place.get(one)!),
            place.get(id)!,
          ),
        ]),
      )
      column.sort((a, b) => middle.get(a)! - middle.get(b)!)
      for (const [i, id] of column.entries()) place.set(id, i / Math.max(1, column.length))
    }
  }
  const tallest = Math.max(0, ...columns.map(({ length }) => length))
  const height = tallest * (NODE.height + GAP.y)
  const placed = new Map<string, Placed>()
  columns.forEach((column, x) => {
    const top = (height - column.length * (NODE.height + GAP.y)) / 2
    for (const [y, id] of column.entries()) placed.set(id, { id, x: x * (NODE.width + GAP.x), y: top + y * (NODE.height + GAP.y) })
  })
  return { placed, width: columns.length * (NODE.width + GAP.x) - GAP.x, height }
}

const mean = (values: readonly number[], otherwise: number): number =>
  values.length === 0 ? otherwise : values.reduce((sum, value) => sum + value, 0) / values.length

/** The links without those that would close a circle. */
function acyclic(ids: readonly string[], links: readonly Link[]): Link[] {
  const after = new Map<string, Link[]>(ids.map(id => [id, []]))
  for (const link of links) if (after.has(link.from) && after.has(link.to)) after.get(link.from)!.push(link)
  const state = new Map<string, 'open' | 'done'>()
  const kept: Link[] = []
  const visit = (id: string) => {
    state.set(id, 'open')
    for (const link of after.get(id)!) {
      if (state.get(link.to) === 'open') continue
      kept.push(link)
      if (!state.has(link.to)) visit(link.to)
    }
    state.set(id, 'done')
  }
  for (const id of ids) if (!state.has(id)) visit(id)
  return kept
}
