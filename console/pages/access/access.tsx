/** Access: who may do what to a kind or object, and what this user may do. */
import { useMemo } from 'preact/hooks'
import { may } from '../../core/access.ts'
import { get, messageOf, send } from '../../core/api.ts'
import { findKind, type Kind, listable, qualifiedName } from '../../core/discovery.ts'
import { namespace as current } from '../../core/namespace.ts'
import { href, query, setQuery, toObject } from '../../core/router.ts'
import { session } from '../../core/session.ts'
import { Badge, Card, Empty, Notice, Spinner, Table, useAsync } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

export default function AccessPage() {
  useCrumbs([{ text: 'Access' }])
  return (
    <div class="page stack stack-wide">
      <div>
        <h1>Access</h1>
        <p class="muted">
          You are <b>{session.value?.user}</b>
          {session.value?.groups.length ? `, in ${session.value.groups.join(', ')}` : ''}.
        </p>
      </div>
      <WhoCan />
      <WhatCanI />
    </div>
  )
}

type Subject = { kind: string; name: string; namespace?: string }
type Binding = { kind: string; namespace?: string; name: string; roleRef: { kind: string; name: string }; subjects: Subject[] }

function WhoCan() {
  const isPermitted = may({ verb: 'get', path: '/keelson/v1/access' }).value
  const wanted = query.value.get('kind') ?? 'pods'
  const verb = query.value.get('verb') ?? 'list'
  const name = query.value.get('name') ?? ''
  const namespace = query.value.get('ns') ?? current.value
  const kind = useMemo(() => listable.value.find(one => qualifiedName(one) === wanted), [wanted, listable.value])
  const { value, error, isLoading } = useAsync(
    async signal => {
      if (!isPermitted || !kind) return undefined
      const asked = new URLSearchParams({
        verb,
        resource: kind.plural,
        ...(kind.group ? { group: kind.group } : {}),
        ...(kind.namespaced && namespace ? { namespace } : {}),
        ...(name ? { name } : {}),
      })
      return get<{ isComplete: boolean; bindings: Binding[] }>(`/keelson/v1/access?${asked}`, { signal })
    },
    [isPermitted, wanted, verb, namespace, name],
  )
  return (
    <Card title="Who can">
      <div class="stack">
        <div class="toolbar">
          <select class="input" aria-label="Verb" value={verb} onChange={event => setQuery({ verb: event.currentTarget.value })}>
            {VERBS.map(one => (
              <option key={one}>{one}</option>
            ))}
          </select>
          <select class="input" aria-label="Kind" value={wanted} onChange={event => setQuery({ kind: event.currentTarget.value })}>
            {listable.value.map(one => (
              <option key={qualifiedName(one)} value={qualifiedName(one)}>
                {qualifiedName(one)}
              </option>
            ))}
          </select>
          <input
            class="input"
            aria-label="Name"
            placeholder="name (any)"
            value={name}
            spellcheck={false}
            onChange={event => setQuery({ name: event.currentTarget.value.trim() })}
          />
          <span class="muted row">{kind?.namespaced ? (namespace ? `in ${namespace}` : 'in all namespaces') : 'of the cluster'}</span>
        </div>
        {!isPermitted && <Notice tone="info">Seeing the bindings of everybody needs the permission to get /keelson/v1/access.</Notice>}
        {error ? <Notice tone="bad" title={messageOf(error)} /> : null}
        {isPermitted && isLoading && !value && <Spinner />}
        {value && value.bindings.length === 0 && (
          <Empty icon="lock" title="Nobody by a role">
            <p>No binding permits this, beside the group system:masters.</p>
          </Empty>
        )}
        {value && value.bindings.length > 0 && (
          <Table columns={['Who', 'By the binding', 'Of the role']}>
            {value.bindings.map(binding => (
              <BindingRow key={`${binding.kind}${binding.namespace}${binding.name}`} binding={binding} />
            ))}
          </Table>
        )}
        {value && !value.isComplete && <p class="faint small">Other authorizers of this server may permit more.</p>}
      </div>
    </Card>
  )
}

const RBAC = 'rbac.authorization.k8s.io'
const rbacKind = (kind: string): Kind | undefined => findKind(RBAC, `${kind.toLowerCase()}s`)

function BindingRow({ binding: { kind, namespace, name, roleRef, subjects } }: { binding: Binding }) {
  const [binding, role] = [rbacKind(kind), rbacKind(roleRef.kind)]
  return (
    <tr>
      <td>
        <span class="row row-wrap">
          {subjects.map(subject => (
            <Badge
              key={`${subject.kind}${subject.namespace}${subject.name}`}
              tone={subject.kind === 'Group' ? 'violet' : subject.kind === 'User' ? 'info' : 'plain'}
              title={subject.kind}
            >
              {subject.namespace ? `${subject.namespace}/` : ''}
              {subject.name}
            </Badge>
          ))}
        </span>
      </td>
      <td>
        {binding ? <a href={href(toObject(binding, namespace, name))}>{name}</a> : name}{' '}
        <span class="muted small">{namespace ? `in ${namespace}` : kind}</span>
      </td>
      <td>
        {role ? (
          <a href={href(toObject(role, roleRef.kind === 'Role' ? namespace : undefined, roleRef.name))}>{roleRef.name}</a>
        ) : (
          roleRef.name
        )}{' '}
        <span class="muted small">{roleRef.kind}</span>
      </td>
    </tr>
  )
}

type Rules = {
  resourceRules: { verbs: string[]; apiGroups?: string[]; resources?: string[]; resourceNames?: string[] }[]
  nonResourceRules: { verbs: string[]; nonResourceURLs?: string[] }[]
  incomplete: boolean
}

function WhatCanI() {
  const namespace = current.value || 'default'
  const { value, error } = useAsync(async () => {
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } }
    const response = await send('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { method: 'POST', body })
    return ((await response.json()) as { status: Rules }).status
  }, [namespace])
  return (
    <Card title={`What I may do in ${namespace}`} isFlush>
      {error ? <p class="card-body bad">{messageOf(error)}</p> : null}
      {!value && !error && (
        <p class="card-body">
          <Spinner />
        </p>
      )}
      {value && (
        <>
          <Table columns={['Verbs', 'Resources', 'Names']}>
            {[...value.resourceRules].map(({ verbs, apiGroups = [], resources = [], resourceNames = [] }, i) => (
              <tr key={i}>
                <td>{verbs.includes('*') ? 'all' : verbs.join(', ')}</td>
                <td class="mono">
                  {resources
                    .map(
                      one =>
                        `${one === '*' ? 'all' : one}${apiGroups.filter(Boolean).length > 0 ? ` (${apiGroups.map(group => (group === '*' ? 'all groups' : group || 'core')).join(', ')})` : ''}`,
                    )
                    .join(', ')}
                </td>
                <td>{resourceNames.join(', ') || <span class="faint">any</span>}</td>
              </tr>
            ))}
            {value.nonResourceRules.map(({ verbs, nonResourceURLs = [] }, i) => (
              <tr key={`p${i}`}>
                <td>{verbs.includes('*') ? 'all' : verbs.join(', ')}</td>
                <td class="mono">{nonResourceURLs.join(', ')}</td>
                <td class="faint">paths</td>
              </tr>
            ))}
          </Table>
          {value.incomplete && <p class="card-body faint small">Not all authorizers can list their rules.</p>}
        </>
      )}
    </Card>
  )
}
