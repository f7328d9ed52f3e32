/** The summary of an object: how it is, its conditions, its metadata, and the main facts of its spec and status. */

import { findKind, type Kind } from '../../core/discovery.ts'
import { type Condition, conditionTone, healthOf } from '../../core/health.ts'
import type { KubeObject } from '../../core/object.ts'
import { href, toList, toObject } from '../../core/router.ts'
import { clock } from '../../core/time.ts'
import { scalarText } from '../../core/yaml-lines.ts'
import { Age, Badge, Card, Notice, RefLink, Table } from '../../parts/basics.tsx'
import { Events } from './events.tsx'
import { WhyPending } from './why-pending.tsx'

export function Summary({ kind, object }: { kind: Kind; object: KubeObject }) {
  const { metadata } = object
  const conditions: Condition[] = Array.isArray(object['status']?.conditions) ? object['status'].conditions : []
  const health = healthOf(object)
  const isPod = kind.group === '' && kind.plural === 'pods'
  return (
    <div class="stack stack-wide">
      {metadata.deletionTimestamp && (
        <Notice tone="warn" title={`Deletion was asked for ${clock(metadata.deletionTimestamp)}`}>
          {metadata.finalizers?.length ? (
            <>
              It waits for these finalizers, which their controllers remove: <b>{metadata.finalizers.join(', ')}</b>
            </>
          ) : (
            'It is being ended.'
          )}
        </Notice>
      )}
      {isPod && <WhyPending pod={object} />}
      {health.detail && !isPod && !metadata.deletionTimestamp && health.tone !== 'good' && (
        <Notice tone={health.tone === 'bad' ? 'bad' : 'warn'} title={health.text}>
          {health.detail}
        </Notice>
      )}
      <div class="columns-2">
        <Card title="Metadata">
          <dl class="facts">
            <dt>Name</dt>
            <dd>{metadata.name}</dd>
            {metadata.namespace && (
              <>
                <dt>Namespace</dt>
                <dd>
                  <a href={href(toObject({ group: '', version: 'v1', plural: 'namespaces' }, undefined, metadata.namespace))}>
                    {metadata.namespace}
                  </a>
                </dd>
              </>
            )}
            <dt>Created</dt>
            <dd>
              <Age time={metadata.creationTimestamp} /> ago <span class="faint">{clock(metadata.creationTimestamp)}</span>
            </dd>
            {metadata.ownerReferences?.map(owner => (
              <>
                <dt key={`t${owner.uid}`}>{owner.controller ? 'Controlled by' : 'Owned by'}</dt>
                <dd key={owner.uid}>
                  <span class="muted">{owner.kind}</span> <RefLink {...owner} namespace={metadata.namespace} />
                </dd>
              </>
            ))}
            <dt>Labels</dt>
            <dd>
              <Chips map={metadata.labels} kind={kind} />
            </dd>
            {metadata.annotations && (
              <>
                <dt>Annotations</dt>
                <dd>
                  <Chips map={metadata.annotations} />
                </dd>
              </>
            )}
            {metadata.finalizers?.length ? (
              <>
                <dt>Finalizers</dt>
                <dd>{metadata.finalizers.join(', ')}</dd>
              </>
            ) : null}
            <dt>Revision</dt>
            <dd class="mono">{metadata.resourceVersion}</dd>
          </dl>
        </Card>
        <div class="stack">
          {conditions.length > 0 && <Conditions conditions={conditions} />}
          <Facts object={object} isPod={isPod} />
        </div>
      </div>
      {isPod && <Containers pod={object} />}
      <Events object={object} />
    </div>
  )
}

const MAX_CHIP = 120

function Chips({ map, kind }: { map: Record<string, string> | undefined; kind?: Kind }) {
  const entries = Object.entries(map ?? {})
  if (entries.length === 0) return <span class="faint">none</span>
  return (
    <span class="row row-wrap">
      {entries.map(([key, value]) => {
        const shown = value.length > MAX_CHIP ? `${value.slice(0, MAX_CHIP)}…` : value
        const content = (
          <>
            <b>{key}</b>
            {value !== '' && `=${shown}`}
          </>
        )
        return kind ? (
          <a class="chip" key={key} href={href(toList(kind, { labels: `${key}=${value}` }))} title="Show all with this label">
            {content}
          </a>
        ) : (
          <span class="chip" key={key}>
            {content}
          </span>
        )
      })}
    </span>
  )
}

function Conditions({ conditions }: { conditions: readonly Condition[] }) {
  return (
    <Card title="Conditions" isFlush>
      <Table>
        {conditions.map(condition => (
          <tr key={condition.type}>
            <td class="nowrap">
              <Badge tone={conditionTone(condition)} title={`status ${condition.status}`}>
                {condition.type}: {condition.status}
              </Badge>
            </td>
            <td>
              {condition.reason && <div class="strong">{condition.reason}</div>}
              {condition.message && <div class="muted">{condition.message}</div>}
            </td>
            <td class="muted nowrap">
              <Age time={condition.lastTransitionTime ?? condition.lastUpdateTime} />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

const MAX_FACTS = 14

/** Scalars of spec and status, and of small mappings: enough to recognize the object. */
function Facts({ object, isPod }: { object: KubeObject; isPod: boolean }) {
  const facts: [string, unknown][] = []
  const collect = (value: unknown, name: string, depth: number) => {
    if (facts.length >= MAX_FACTS || name === 'conditions' || name === 'managedFields') return
    if (value === null || typeof value !== 'object') facts.push([name, value])
    else if (Array.isArray(value)) {
      if (value.length > 0 && value.every(item => typeof item !== 'object')) facts.push([name, value.join(', ')])
    } else if (depth < 2) for (const [key, below] of Object.entries(value)) collect(below, name === '' ? key : `${name}.${key}`, depth + 1)
  }
  const { apiVersion: _, kind: __, metadata: ___, spec, status, ...others } = object
  if (isPod) {
    for (const name of ['nodeName', 'serviceAccountName', 'priorityClassName', 'schedulerName', 'restartPolicy'])
      if (spec?.[name] !== undefined) facts.push([name, spec[name]])
    for (const name of ['podIP', 'qosClass', 'phase']) if (status?.[name] !== undefined) facts.push([name, status[name]])
  } else {
    collect(spec ?? {}, '', 0)
    collect(status ?? {}, 'status', 0)
    // Secrets and data are shown in the YAML, where they are asked for.
    if (facts.length === 0)
      for (const [name, value] of Object.entries(others))
        facts.push([
          name,
          Array.isArray(value)
            ? `${value.length} entries`
            : typeof value === 'object' && value
              ? `${Object.keys(value).length} keys`
              : value,
        ])
  }
  if (facts.length === 0) return null
  const nodes = findKind('', 'nodes')
  return (
    <Card title="Facts">
      <dl class="facts">
        {facts.map(([name, value]) => (
          <>
            <dt key={`t${name}`}>{name}</dt>
            <dd key={name}>
              {name === 'nodeName' && nodes ? (
                <a href={href(toObject(nodes, undefined, String(value)))}>{String(value)}</a>
              ) : (
                scalarText(value)
              )}
            </dd>
          </>
        ))}
      </dl>
    </Card>
  )
}

function Containers({ pod }: { pod: KubeObject }) {
  const statuses = new Map<string, any>(
    [...(pod['status']?.initContainerStatuses ?? []), ...(pod['status']?.containerStatuses ?? [])].map((one: any) => [one.name, one]),
  )
  const all: any[] = [
    ...(pod['spec']?.initContainers ?? []).map((one: any) => ({ ...one, isInit: true })),
    ...(pod['spec']?.containers ?? []),
  ]
  return (
    <Card title="Containers" isFlush>
      <Table columns={['Name', 'Image', 'State', 'Restarts', 'Requests']}>
        {all.map(container => {
          const status = statuses.get(container.name)
          const [state, detail] = Object.entries<any>(status?.state ?? {})[0] ?? ['waiting', {}]
          const text = detail?.reason ?? state
          const tone =
            state === 'running'
              ? status?.ready
                ? 'good'
                : 'warn'
              : state === 'terminated'
                ? detail?.exitCode === 0
                  ? 'good'
                  : 'bad'
                : 'warn'
          return (
            <tr key={container.name}>
              <td class="strong">
                {container.name} {container.isInit && <span class="faint">init</span>}
              </td>
              <td class="mono">{container.image}</td>
              <td>
                <Badge tone={tone} title={detail?.message}>
                  {text}
                </Badge>
              </td>
              <td>{status?.restartCount ?? 0}</td>
              <td class="muted">
                {Object.entries(container.resources?.requests ?? {})
                  .map(([name, amount]) => `${name} ${amount}`)
                  .join(', ') || '–'}
              </td>
            </tr>
          )
        })}
      </Table>
    </Card>
  )
}
