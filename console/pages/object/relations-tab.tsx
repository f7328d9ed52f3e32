/** The relations of one object: its owners and dependents as a tree, what it selects, uses and is used by. */
import { useEffect } from 'preact/hooks'
import { messageOf } from '../../core/api.ts'
import type { Kind } from '../../core/discovery.ts'
import type { KubeObject } from '../../core/object.ts'
import { type EdgeType, type Item, loadRelations, outsideOf, type Relations } from '../../core/relations.ts'
import { href, toObject } from '../../core/router.ts'
import { Badge, Card, Notice, ObjectLink, RefLink, Spinner, useAsync } from '../../parts/basics.tsx'
import { iconOf } from '../../parts/frame.tsx'
import { Icon } from '../../parts/icons.tsx'

const LOOK_AGAIN_MS = 6_000

export default function RelationsTab({ kind, object }: { kind: Kind; object: KubeObject }) {
  const { namespace, uid = '', name } = object.metadata
  const scope = namespace ?? (kind.plural === 'namespaces' ? name : undefined)
  const { value, error, reload } = useAsync(async signal => (scope ? loadRelations(scope, signal) : undefined), [scope, uid])
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  })
  if (error) return <Notice tone="bad" title={messageOf(error)} />
  if (!scope) return <ClusterWide object={object} />
  if (!value) return <Spinner label="Reading the namespace" />
  if (kind.plural === 'namespaces')
    return (
      <p>
        <a href={href(`/relations?ns=${encodeURIComponent(name)}`)}>Show the graph of {name}</a>, with {value.items.size} objects.
      </p>
    )
  const item = value.items.get(uid)
  if (!item) return <p class="muted">Relations of this kind are not known.</p>
  const root = rootOf(value, uid)
  const groups: [string, Item[]][] = [
    ['Selects', others(value, uid, 'selects', 'to')],
    ['Selected by', others(value, uid, 'selects', 'from')],
    ['Scales', others(value, uid, 'scales', 'to')],
    ['Scaled by', others(value, uid, 'scales', 'from')],
    ['Routes to', others(value, uid, 'routes to', 'to')],
    ['Reached through', others(value, uid, 'routes to', 'from')],
    ['Uses', others(value, uid, 'uses', 'to')],
    ['Used by', others(value, uid, 'uses', 'from')],
  ]
  const outside = outsideOf(item)
  return (
    <div class="columns-2">
      <Card title="Owners and dependents" side={<a href={href(`/relations?ns=${encodeURIComponent(scope)}`)}>Graph of {scope}</a>}>
        <ul class="tree">
          <Branch relations={value} id={root} here={uid} />
        </ul>
      </Card>
      <div class="stack">
        {groups
          .filter(([, items]) => items.length > 0)
          .map(([title, items]) => (
            <Card key={title} title={title} isFlush>
              <ul class="trouble-list">
                {items.map(one => (
                  <li key={one.id} class="trouble">
                    <ItemLine item={one} isHere={false} />
                  </li>
                ))}
              </ul>
            </Card>
          ))}
        {outside.length > 0 && (
          <Card title="Outside of the namespace">
            <dl class="facts">
              {outside.map(({ kind, title, name }) => (
                <>
                  <dt key={`t${title}${name}`}>{title}</dt>
                  <dd key={name}>
                    <ObjectLink kind={kind} name={name} />
                  </dd>
                </>
              ))}
            </dl>
          </Card>
        )}
        {value.hidden.length > 0 && <p class="faint small">Not shown, since you may not list them: {value.hidden.join(', ')}.</p>}
      </div>
    </div>
  )
}

function ClusterWide({ object }: { object: KubeObject }) {
  const owners = object.metadata.ownerReferences ?? []
  const claim = object['spec']?.claimRef
  if (owners.length === 0 && !claim) return <p class="muted">This object belongs to the whole cluster and has no owners.</p>
  return (
    <Card title="Owners">
      <ul>
        {owners.map(owner => (
          <li key={owner.uid}>
            {owner.kind} <RefLink {...owner} />
          </li>
        ))}
        {claim && (
          <li>
            bound to claim <RefLink apiVersion="v1" kind="PersistentVolumeClaim" namespace={claim.namespace} name={claim.name} />
          </li>
        )}
      </ul>
    </Card>
  )
}

function rootOf({ edges }: Relations, id: string): string {
  const seen = new Set([id])
  for (let at = id; ; ) {
    const up = edges.find(({ to, type }) => to === at && type === 'owns')
    if (!up || seen.has(up.from)) return at
    seen.add(up.from)
    at = up.from
  }
}

function others({ items, edges }: Relations, id: string, type: EdgeType, end: 'from' | 'to'): Item[] {
  const mine = end === 'to' ? 'from' : 'to'
  return edges.filter(edge => edge.type === type && edge[mine] === id).flatMap(edge => items.get(edge[end]) ?? [])
}

function Branch({ relations, id, here, depth = 0 }: { relations: Relations; id: string; here: string; depth?: number }) {
  const item = relations.items.get(id)
  if (!item || depth > 8) return null
  const below = others(relations, id, 'owns', 'to')
  return (
    <li>
      <ItemLine item={item} isHere={id === here} />
      {below.length > 0 && (
        <ul>
          {below.map(one => (
            <Branch key={one.id} relations={relations} id={one.id} here={here} depth={depth + 1} />
          ))}
        </ul>
      )}
    </li>
  )
}

function ItemLine({ item: { kind, object, health }, isHere }: { item: Item; isHere: boolean }) {
  const { namespace, name } = object.metadata
  return (
    <span class="row row-wrap tree-line" data-here={isHere}>
      <Icon name={iconOf(kind)} size={14} />
      <span class="muted">{kind.kind}</span>
      {isHere ? <b>{name}</b> : <a href={href(toObject(kind, namespace, name))}>{name}</a>}
      {health.text !== '' && (
        <Badge tone={health.tone} {...(health.detail ? { title: health.detail } : {})}>
          {health.text}
        </Badge>
      )}
    </span>
  )
}
