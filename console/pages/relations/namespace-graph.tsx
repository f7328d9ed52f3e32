/** The relations of a whole namespace, as a graph. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { messageOf } from '../../core/api.ts'
import { namespace as current, namespaces } from '../../core/namespace.ts'
import { type Edge, type Item, loadRelations, type Relations } from '../../core/relations.ts'
import { href, query, setQuery, toObject } from '../../core/router.ts'
import { Empty, Notice, Spinner, useAsync } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { iconOf } from '../../parts/frame.tsx'
import { Icon } from '../../parts/icons.tsx'
import { layout, NODE } from './layout.ts'

const LOOK_AGAIN_MS = 6_000
/** More pods of one owner are shown as one box. */
const MAX_PODS = 4

export default function NamespaceGraphPage() {
  useCrumbs([{ text: 'Relations' }])
  const namespace = query.value.get('ns') ?? (current.value || 'default')
  const { value, error, reload } = useAsync(signal => loadRelations(namespace, signal), [namespace])
  const [showsAll, setShowsAll] = useState(false)
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  })
  return (
    <div class="page">
      <div class="page-head">
        <div>
          <h1>Relations in {namespace}</h1>
          <p class="muted">Owners, selectors and what pods use. Arrows lead from the one that owns, selects or uses.</p>
        </div>
        <div class="page-actions">
          <button type="button" class="button" aria-pressed={showsAll} onClick={() => setShowsAll(!showsAll)}>
            Show objects without relations
          </button>
          <select
            class="input"
            aria-label="Namespace of the graph"
            value={namespace}
            onChange={event => setQuery({ ns: event.currentTarget.value })}
          >
            {[...new Set([namespace, ...namespaces.value])].map(name => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
      </div>
      {error ? <Notice tone="bad" title={messageOf(error)} /> : null}
      {!value && !error && <Spinner label="Reading the namespace" />}
      {value && <Graph key={namespace} relations={value} showsAll={showsAll} />}
      {value && value.hidden.length > 0 && <p class="faint small">Not shown, since you may not list them: {value.hidden.join(', ')}.</p>}
    </div>
  )
}

type Box = { readonly id: string; readonly items: readonly Item[] }

/** Boxes of the graph: single objects, and pods of one owner together. */
function boxesOf({ items, edges }: Relations, showsAll: boolean): { boxes: Box[]; links: Edge[] } {
  const owner = new Map(edges.filter(({ type }) => type === 'owns').map(({ from, to }) => [to, from]))
  const groups = new Map<string, Item[]>()
  for (const item of items.values()) {
    const by = item.kind.plural === 'pods' ? owner.get(item.id) : undefined
    if (by) groups.set(by, [...(groups.get(by) ?? []), item])
  }
  const boxOf = new Map<string, string>()
  const boxes: Box[] = []
  for (const item of items.values()) {
    const group = groups.get(owner.get(item.id) ?? '')
    if (item.kind.plural === 'pods' && group && group.length > MAX_PODS) {
      if (group[0] === item) boxes.push({ id: item.id, items: group })
      boxOf.set(item.id, group[0]!.id)
    } else {
      boxes.push({ id: item.id, items: [item] })
      boxOf.set(item.id, item.id)
    }
  }
  const seen = new Set<string>()
  const links = edges
    .map(edge => ({ ...edge, from: boxOf.get(edge.from)!, to: boxOf.get(edge.to)! }))
    .filter(({ from, to }) => {
      const key = `${from} ${to}`
      return from !== to && !seen.has(key) && Boolean(seen.add(key))
    })
  // An old replica set without pods has nothing to tell.
  const isIdle = ({ items: [item] }: Box) => item?.kind.plural === 'replicasets' && item.object['spec']?.replicas === 0
  const linked = new Set(links.flatMap(({ from, to }) => [from, to]))
  const shown = boxes.filter(box => showsAll || (linked.has(box.id) && !isIdle(box)))
  const ids = new Set(shown.map(({ id }) => id))
  return { boxes: shown, links: links.filter(({ from, to }) => ids.has(from) && ids.has(to)) }
}

function Graph({ relations, showsAll }: { relations: Relations; showsAll: boolean }) {
  const { boxes, links } = useMemo(() => boxesOf(relations, showsAll), [relations, showsAll])
  const { placed, width, height } = useMemo(
    () =>
      layout(
        boxes.map(({ id }) => id),
        links,
      ),
    [boxes, links],
  )
  const [pointed, setPointed] = useState<string | undefined>(undefined)
  if (boxes.length === 0)
    return (
      <Empty icon="graph" title="Nothing is related here">
        <p>No object of this namespace owns, selects or uses another.</p>
      </Empty>
    )
  const near = new Set(
    pointed ? links.filter(({ from, to }) => from === pointed || to === pointed).flatMap(({ from, to }) => [from, to]) : [],
  )
  return (
    <section class="graph" aria-label="Graph of the namespace" tabIndex={0}>
      <div class="graph-inner" style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} class="graph-lines" aria-hidden="true">
          <title>Relations</title>
          {links.map(({ from, to, type }) => {
            const [a, b] = [placed.get(from)!, placed.get(to)!]
            const [x1, y1, x2, y2] = [a.x + NODE.width, a.y + NODE.height / 2, b.x, b.y + NODE.height / 2]
            const bend = Math.max(24, Math.abs(x2 - x1) / 2)
            return (
              <path
                key={`${from}${to}`}
                class={`graph-line graph-${type.replaceAll(' ', '-')}`}
                data-near={pointed === from || pointed === to}
                d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
              />
            )
          })}
        </svg>
        {boxes.map(box => {
          const { x, y } = placed.get(box.id)!
          return (
            <div
              key={box.id}
              class="graph-place"
              data-faded={pointed !== undefined && pointed !== box.id && !near.has(box.id)}
              style={{ transform: `translate(${x}px, ${y}px)`, width: `${NODE.width}px`, height: `${NODE.height}px` }}
              onMouseEnter={() => setPointed(box.id)}
              onMouseLeave={() => setPointed(undefined)}
            >
              <BoxView box={box} links={links} relations={relations} />
            </div>
          )
        })}
      </div>
      <ul class="row row-wrap small muted graph-key">
        {(['owns', 'selects', 'uses', 'scales', 'routes to'] as const)
          .filter(type => links.some(link => link.type === type))
          .map(type => (
            <li class="row" key={type}>
              <svg width="26" height="8" aria-hidden="true">
                <title>{type}</title>
                <path class={`graph-line graph-${type.replaceAll(' ', '-')}`} d="M0 4H26" />
              </svg>
              {type}
            </li>
          ))}
      </ul>
    </section>
  )
}

function BoxView({ box, links, relations }: { box: Box; links: readonly Edge[]; relations: Relations }) {
  const [item] = box.items
  if (!item) return null
  const worst = box.items.find(({ health }) => health.tone === 'bad') ?? box.items.find(({ health }) => health.tone === 'warn') ?? item
  const isMany = box.items.length > 1
  const name = isMany ? `${box.items.length} ${item.kind.plural}` : item.object.metadata.name
  const told = links
    .filter(({ from }) => from === box.id)
    .map(({ to, type }) => `${type} ${relations.items.get(to)?.object.metadata.name}`)
    .join(', ')
  return (
    <a
      class={`graph-box graph-box-${worst.health.tone}`}
      href={href(
        isMany
          ? `/list/core/v1/pods?ns=${item.object.metadata.namespace}`
          : toObject(item.kind, item.object.metadata.namespace, item.object.metadata.name),
      )}
      title={worst.health.text}
    >
      <Icon name={iconOf(item.kind)} size={14} />
      <span class="grow">
        <span class="cut graph-name">{name}</span>
        <span class="cut graph-kind">
          {isMany ? '' : item.kind.kind}
          {worst.health.text ? `${isMany ? '' : ', '}${worst.health.text}` : ''}
        </span>
        {told && <span class="visually-hidden">: {told}</span>}
      </span>
      {worst.health.tone !== 'plain' && <span class={`dot dot-${worst.health.tone}`} aria-hidden="true" />}
    </a>
  )
}
