/** Nodes with their pods and resources, devices with the claims that hold them, and why a pod or claim waits. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { findKind, type Kind, listPath } from '../../core/discovery.ts'
import { healthOf } from '../../core/health.ts'
import { type LiveList, liveList } from '../../core/live.ts'
import type { KubeObject } from '../../core/object.ts'
import { quantity, short } from '../../core/quantity.ts'
import { href, query, setQuery, toObject } from '../../core/router.ts'
import { readMessage } from '../../core/scheduling.ts'
import { Badge, Card, Empty, Notice, ObjectLink, Problem, Table } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { usageOf, verdictsOf } from './fit.ts'

/** A live list of objects, of a kind that may not be served. */
function useObjects(kind: Kind | undefined): { objects: readonly KubeObject[]; error: unknown } {
  const [live, setLive] = useState<LiveList | undefined>(undefined)
  useEffect(() => {
    if (!kind) return
    const opened = liveList({ path: listPath(kind) })
    setLive(opened)
    return () => opened.close()
  }, [kind?.group, kind?.plural])
  const rows = live?.rows.value
  const state = live?.state.value
  return {
    objects: useMemo(() => (rows ?? []).flatMap(({ object }) => object ?? []), [rows]),
    error: state?.phase === 'failed' ? state.error : undefined,
  }
}

export default function NodesPage() {
  useCrumbs([{ text: 'Nodes and devices' }])
  const kinds = {
    nodes: findKind('', 'nodes'),
    pods: findKind('', 'pods'),
    slices: findKind('resource.k8s.io', 'resourceslices'),
    claims: findKind('resource.k8s.io', 'resourceclaims'),
  }
  const { objects: nodes, error } = useObjects(kinds.nodes)
  const { objects: pods } = useObjects(kinds.pods)
  const { objects: slices } = useObjects(kinds.slices)
  const { objects: claims } = useObjects(kinds.claims)
  const byNode = useMemo(() => {
    const found = new Map<string, KubeObject[]>()
    for (const pod of pods) {
      const name = pod['spec']?.nodeName
      if (name && !['Succeeded', 'Failed'].includes(pod['status']?.phase)) found.set(name, [...(found.get(name) ?? []), pod])
    }
    return found
  }, [pods])
  const waiting = pods.filter(pod => !pod['spec']?.nodeName && !['Succeeded', 'Failed'].includes(pod['status']?.phase))
  const asked = query.value.get('pod')
  const compared = pods.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === asked)
  if (error && nodes.length === 0) return <Problem error={error} subject="nodes" />
  return (
    <div class="page stack stack-wide">
      <div>
        <h1>Nodes and devices</h1>
        <p class="muted">
          {nodes.length} nodes, {pods.length} pods, {waiting.length} without a node
        </p>
      </div>
      {compared && <Compare pod={compared} nodes={nodes} byNode={byNode} nodeKind={kinds.nodes} podKind={kinds.pods} />}
      {waiting.length > 0 && !compared && <Waiting pods={waiting} podKind={kinds.pods} />}
      <div class="node-tiles">
        {nodes.map(node => (
          <NodeTile
            key={node.metadata.uid}
            node={node}
            pods={byNode.get(node.metadata.name) ?? []}
            nodeKind={kinds.nodes}
            podKind={kinds.pods}
          />
        ))}
      </div>
      {nodes.length === 0 && (
        <Empty icon="server" title="No nodes">
          <p>Pods wait until there is a node. Start the server with --nodes to simulate some.</p>
        </Empty>
      )}
      {slices.length > 0 && <Devices slices={slices} claims={claims} claimKind={kinds.claims} />}
      {claims.length > 0 && <Claims claims={claims} pods={pods} claimKind={kinds.claims} podKind={kinds.pods} />}
    </div>
  )
}

const SHOWN = ['cpu', 'memory', 'pods'] as const

function NodeTile({
  node,
  pods,
  nodeKind,
  podKind,
}: {
  node: KubeObject
  pods: readonly KubeObject[]
  nodeKind: Kind | undefined
  podKind: Kind | undefined
}) {
  const health = healthOf(node)
  const used = usageOf(pods)
  const allocatable: Record<string, string> = node['status']?.allocatable ?? {}
  const taints: { key: string; value?: string; effect: string }[] = node['spec']?.taints ?? []
  const extended = Object.keys(allocatable).filter(name => name.includes('/') && quantity(allocatable[name]) > 0)
  return (
    <section class="card node-tile" aria-label={`Node ${node.metadata.name}`}>
      <div class="row row-between">
        <span class="strong cut">
          <ObjectLink kind={nodeKind} name={node.metadata.name} />
        </span>
        <span class="row">
          {node['spec']?.unschedulable && <Badge tone="warn">cordoned</Badge>}
          <Badge tone={health.tone}>{health.text || 'unknown'}</Badge>
        </span>
      </div>
      <dl class="meters">
        {[...SHOWN, ...extended].map(name => {
          const [all, some] = [quantity(allocatable[name]), used[name] ?? 0]
          const share = all > 0 ? some / all : 0
          return (
            <div key={name} class="meter-row">
              <dt>{name}</dt>
              <dd>
                <span class="meter" aria-hidden="true">
                  <span class={share > 0.9 ? 'meter-full' : ''} style={{ width: `${Math.min(100, share * 100)}%` }} />
                </span>
                <span class="small muted nowrap">
                  {short(some, name !== 'cpu')} of {short(all, name !== 'cpu')}
                </span>
              </dd>
            </div>
          )
        })}
      </dl>
      {taints.length > 0 && (
        <div class="row row-wrap">
          {taints.map(({ key, value, effect }) => (
            <span class="chip" key={`${key}${effect}`} title="Taint">
              {key}
              {value ? `=${value}` : ''}:{effect}
            </span>
          ))}
        </div>
      )}
      <ul class="pod-squares" aria-label={`Pods on ${node.metadata.name}`}>
        {pods.map(pod => {
          const state = healthOf(pod)
          const { namespace, name, uid } = pod.metadata
          return (
            <li key={uid}>
              <a
                class={`pod-square pod-${state.tone}`}
                href={href(podKind ? toObject(podKind, namespace, name) : '/')}
                title={`${namespace}/${name}: ${state.text}`}
              >
                <span class="visually-hidden">{`${namespace}/${name}: ${state.text}`}</span>
              </a>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function Waiting({ pods, podKind }: { pods: readonly KubeObject[]; podKind: Kind | undefined }) {
  return (
    <Card title="Pods without a node" isFlush>
      <ul class="trouble-list">
        {pods.slice(0, 50).map(pod => {
          const health = healthOf(pod)
          const message = readMessage(health.detail ?? '')
          const { namespace, name, uid } = pod.metadata
          return (
            <li class="trouble" key={uid}>
              <span class={`dot dot-${health.tone}`} aria-hidden="true" />
              <div class="grow">
                <div class="row row-wrap">
                  <ObjectLink kind={podKind} namespace={namespace} name={name} />
                  <span class="muted">{namespace}</span>
                  <span class={health.tone}>{health.text}</span>
                </div>
                <div class="muted small">
                  {message
                    ? message.reasons
                        .map(({ nodes, text, plugin }) => `${nodes} of ${message.total} nodes ${text}${plugin ? ` (${plugin})` : ''}`)
                        .join('; ')
                    : health.detail}
                </div>
              </div>
              <button type="button" class="button button-small" onClick={() => setQuery({ pod: `${namespace}/${name}` })}>
                Why?
              </button>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}

type CompareProps = {
  pod: KubeObject
  nodes: readonly KubeObject[]
  byNode: ReadonlyMap<string, readonly KubeObject[]>
  nodeKind: Kind | undefined
  podKind: Kind | undefined
}

function Compare({ pod, nodes, byNode, nodeKind, podKind }: CompareProps) {
  const { namespace, name } = pod.metadata
  const rows = nodes.map(node => ({ node, verdicts: verdictsOf(pod, node, byNode.get(node.metadata.name) ?? []) }))
  const plugins = rows[0]?.verdicts.map(({ plugin }) => plugin) ?? []
  const message: string = (pod['status']?.conditions ?? []).find(({ type }: { type: string }) => type === 'PodScheduled')?.message ?? ''
  const said = readMessage(message)
  return (
    <Card
      title={
        <>
          Why no node takes <ObjectLink kind={podKind} namespace={namespace} name={name} />
        </>
      }
      side={
        <button type="button" class="button button-small" onClick={() => setQuery({ pod: undefined })}>
          Close
        </button>
      }
      isFlush
    >
      {message && (
        <div class="card-body">
          <Notice tone="info" title="The scheduler says">
            {said ? (
              <ul>
                {said.reasons.map(({ nodes, text, plugin }) => (
                  <li key={text}>
                    <b>
                      {nodes} of {said.total} nodes
                    </b>{' '}
                    {text} {plugin && `(${plugin})`}
                  </li>
                ))}
              </ul>
            ) : (
              message
            )}
          </Notice>
        </div>
      )}
      <Table label="Nodes by filters" columns={['Node', ...plugins]}>
        {rows.map(({ node, verdicts }) => (
          <tr key={node.metadata.uid}>
            <td class="nowrap">
              <ObjectLink kind={nodeKind} name={node.metadata.name} />
            </td>
            {verdicts.map(({ plugin, isFit, reason }) => (
              <td key={plugin}>{isFit ? <span class="good">fits</span> : <span class="bad">{reason}</span>}</td>
            ))}
          </tr>
        ))}
      </Table>
      <p class="card-body faint small">
        The table is computed from the objects as they are now. Affinity between pods, spreading, volumes and devices are in the scheduler's
        words above only.
      </p>
    </Card>
  )
}

type Device = {
  readonly name: string
  readonly attributes?: Record<string, any>
  readonly taints?: { key: string; value?: string; effect: string }[]
  readonly consumesCounters?: { counterSet: string; counters: Record<string, { value: string }> }[]
}

type Pool = { readonly driver: string; readonly pool: string; readonly node: string; readonly devices: Device[] }

function Devices({
  slices,
  claims,
  claimKind,
}: {
  slices: readonly KubeObject[]
  claims: readonly KubeObject[]
  claimKind: Kind | undefined
}) {
  const holders = new Map<string, KubeObject[]>()
  for (const claim of claims)
    for (const { driver, pool, device } of claim['status']?.allocation?.devices?.results ?? []) {
      const key = `${driver}/${pool}/${device}`
      holders.set(key, [...(holders.get(key) ?? []), claim])
    }
  const pools = new Map<string, Pool>()
  for (const slice of slices) {
    const spec = slice['spec'] ?? {}
    const key = `${spec.driver}/${spec.pool?.name}`
    const found: Pool = pools.get(key) ?? {
      driver: spec.driver,
      pool: spec.pool?.name ?? '',
      node: spec.nodeName ?? (spec.allNodes ? 'all nodes' : 'some nodes'),
      devices: [],
    }
    found.devices.push(...(spec.devices ?? []))
    pools.set(key, found)
  }
  return (
    <Card title="Devices">
      <div class="stack">
        {[...pools].map(([key, { driver, pool, node, devices }]) => (
          <section key={key} class="stack stack-tight" aria-label={`Pool ${pool} of ${driver}`}>
            <h3>
              {driver} <span class="muted">pool {pool}</span> <span class="faint">{node !== pool ? node : ''}</span>
            </h3>
            <ul class="device-list">
              {devices.map(device => {
                const held = holders.get(`${driver}/${pool}/${device.name}`) ?? []
                const taint = device.taints?.[0]
                const tone = taint ? 'bad' : held.length > 0 ? 'info' : 'good'
                return (
                  <li key={device.name} class={`device device-${tone}`} title={attributeText(device)}>
                    <span class="row">
                      <span class={`dot dot-${tone}`} aria-hidden="true" />
                      <b class="cut">{device.name}</b>
                      {device.consumesCounters && (
                        <span class="faint small">{String(device.attributes?.['type']?.string ?? 'partition')}</span>
                      )}
                    </span>
                    <span class="small cut">
                      {taint ? (
                        <span class="bad">
                          {taint.key}:{taint.effect}
                        </span>
                      ) : held.length > 0 ? (
                        held.map(claim => (
                          <span key={claim.metadata.uid}>
                            held by <ObjectLink kind={claimKind} namespace={claim.metadata.namespace} name={claim.metadata.name} />
                          </span>
                        ))
                      ) : (
                        <span class="muted">free</span>
                      )}
                    </span>
                  </li>
                )
              })}
            </ul>
          </section>
        ))}
      </div>
    </Card>
  )
}

const attributeText = ({ attributes = {} }: Device): string =>
  Object.entries(attributes)
    .map(([name, value]) => `${name}: ${String(Object.values(value as object)[0])}`)
    .join(', ')

function Claims({
  claims,
  pods,
  claimKind,
  podKind,
}: {
  claims: readonly KubeObject[]
  pods: readonly KubeObject[]
  claimKind: Kind | undefined
  podKind: Kind | undefined
}) {
  return (
    <Card title="Device claims" isFlush>
      <Table columns={['Claim', 'State', 'Used by', 'Why not']}>
        {claims.map(claim => {
          const { namespace, name, uid, ownerReferences = [] } = claim.metadata
          const isAllocated = claim['status']?.allocation !== undefined
          const user = pods.find(
            pod =>
              pod.metadata.namespace === namespace &&
              (ownerReferences.some(owner => owner.uid === pod.metadata.uid) ||
                (pod['spec']?.resourceClaims ?? []).some(
                  ({ resourceClaimName }: { resourceClaimName?: string }) => resourceClaimName === name,
                )),
          )
          const why = !isAllocated && user ? healthOf(user).detail : ''
          return (
            <tr key={uid}>
              <td>
                <ObjectLink kind={claimKind} namespace={namespace} name={name} /> <span class="muted small">{namespace}</span>
              </td>
              <td>
                <Badge tone={isAllocated ? 'good' : 'warn'}>
                  {isAllocated ? ((claim['status'].reservedFor ?? []).length > 0 ? 'allocated, reserved' : 'allocated') : 'pending'}
                </Badge>
              </td>
              <td>
                {user ? <ObjectLink kind={podKind} namespace={namespace} name={user.metadata.name} /> : <span class="faint">nobody</span>}
              </td>
              <td class="muted">
                {why ||
                  (isAllocated
                    ? ''
                    : user
                      ? 'The scheduler has not said why.'
                      : 'A claim is allocated when a pod that uses it is scheduled.')}
              </td>
            </tr>
          )
        })}
      </Table>
    </Card>
  )
}
