/** Tries a request without a write, with any manifest and as any user: whether it is allowed, the binding that allows it, and the effects of admission. */
import { useMemo, useState } from 'preact/hooks'
import { may } from '../../core/access.ts'
import { ApiError, messageOf, send } from '../../core/api.ts'
import { type Kind, kindOf, listPath, objectPath } from '../../core/discovery.ts'
import { namespace as current } from '../../core/namespace.ts'
import type { KubeObject } from '../../core/object.ts'
import { forPeople, yamlText } from '../../core/yaml-lines.ts'
import { Badge, Card, Causes, Empty, Notice, Spinner } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { Diff } from '../../parts/diff.tsx'
import { EditorLoading, useEditor } from '../../parts/editor/lazy.tsx'
import { warningsOf } from '../../parts/editor/validation.ts'
import { Icon } from '../../parts/icons.tsx'
import type { Step } from '../object/review.tsx'
import { Waterfall } from './waterfall.tsx'

const EXAMPLE = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'example', namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'registry.example/image:latest' }] },
}

const VERBS = { create: 'POST', update: 'PUT', apply: 'PATCH', patch: 'PATCH', delete: 'DELETE' } as const
type Verb = keyof typeof VERBS

type Outcome = {
  readonly user: string
  readonly isAllowed: boolean
  readonly reason: string
  readonly error: unknown
  readonly result: KubeObject | undefined
  readonly warnings: readonly string[]
  readonly steps: readonly Step[]
  readonly note: string
  readonly sent: any
  readonly ms: number
}

export default function TryPage() {
  useCrumbs([{ text: 'Try a request' }])
  const editor = useEditor()
  const [source] = useState(() => ({
    text: yamlText({ ...EXAMPLE, metadata: { ...EXAMPLE.metadata, namespace: current.value || 'default' } }),
  }))
  const [text, setText] = useState(source.text)
  const [verb, setVerb] = useState<Verb>('create')
  const [user, setUser] = useState('')
  // A browser sends one header of a name, so it is one group.
  const [group, setGroup] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined)
  const [problem, setProblem] = useState('')
  const parsed = useMemo(() => editor?.parseYaml(text), [editor, text])
  const users = { group: '', version: 'v1', plural: 'users' } as Kind
  const mayImpersonate = may({ verb: 'impersonate', kind: users }).value
  const go = async () => {
    if (!parsed) return
    setProblem('')
    setBusy(true)
    try {
      setOutcome(
        await tryIt(parsed.value, verb, {
          user: user.trim(),
          groups: [group.trim()].filter(Boolean),
        }),
      )
    } catch (error) {
      setProblem(messageOf(error))
    }
    setBusy(false)
  }
  return (
    <div class="page">
      <div class="page-head">
        <div>
          <h1>Try a request</h1>
          <p class="muted">A dry run: nothing is written. See whether it is allowed, by which binding, and each step of admission.</p>
        </div>
      </div>
      <div class="try-columns">
        <div class="stack">
          <div class="toolbar">
            <select class="input" aria-label="Verb" value={verb} onChange={event => setVerb(event.currentTarget.value as Verb)}>
              {Object.keys(VERBS).map(one => (
                <option key={one}>{one}</option>
              ))}
            </select>
            {mayImpersonate && (
              <>
                <input
                  class="input grow"
                  aria-label="As user"
                  placeholder="as user (yourself)"
                  value={user}
                  spellcheck={false}
                  onInput={event => setUser(event.currentTarget.value)}
                />
                <input
                  class="input grow"
                  aria-label="As group"
                  placeholder="and group"
                  value={group}
                  spellcheck={false}
                  onInput={event => setGroup(event.currentTarget.value)}
                />
              </>
            )}
            <button
              type="button"
              class="button button-primary"
              disabled={isBusy || !parsed || parsed.problems.length > 0}
              onClick={() => void go()}
            >
              <Icon name="flask" /> Try
            </button>
          </div>
          {editor ? (
            <div class="editor-box">
              <editor.CodeEditor
                label="Manifest or patch"
                source={source}
                marks={parsed?.problems ?? []}
                onChange={setText}
                onSave={() => void go()}
              />
            </div>
          ) : (
            <EditorLoading />
          )}
        </div>
        <div class="stack" aria-live="polite">
          {problem !== '' && <Notice tone="bad" title={problem} />}
          {isBusy && <Spinner label="Asking the server" />}
          {outcome ? (
            <OutcomeView outcome={outcome} verb={verb} />
          ) : (
            !isBusy && (
              <Empty icon="flask" title="Nothing tried yet">
                <p>Paste a manifest, choose the verb and the user, and try.</p>
              </Empty>
            )
          )}
        </div>
      </div>
    </div>
  )
}

async function tryIt(draft: any, verb: Verb, as: { user: string; groups: readonly string[] }): Promise<Outcome> {
  const kind = kindOf(String(draft?.apiVersion ?? ''), String(draft?.kind ?? ''))
  if (!kind) throw new Error(`The server does not know the kind ${draft?.kind ?? '(none)'} of ${draft?.apiVersion ?? '(none)'}.`)
  const name: string = draft?.metadata?.name ?? ''
  const namespace = kind.namespaced ? (draft?.metadata?.namespace ?? (current.value || 'default')) : undefined
  const attributes = {
    verb: verb === 'apply' ? 'patch' : verb,
    group: kind.group,
    version: kind.version,
    resource: kind.plural,
    ...(namespace ? { namespace } : {}),
    ...(verb === 'create' ? {} : { name }),
  }
  const review = await send(`/apis/authorization.k8s.io/v1/${as.user ? 'subjectaccessreviews' : 'selfsubjectaccessreviews'}`, {
    method: 'POST',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: as.user ? 'SubjectAccessReview' : 'SelfSubjectAccessReview',
      spec: { resourceAttributes: attributes, ...(as.user ? { user: as.user, groups: [...as.groups, 'system:authenticated'] } : {}) },
    },
  })
    .then(response => response.json())
    .catch(() => undefined)
  const impersonation: Record<string, string> = as.user
    ? { 'Impersonate-User': as.user, ...(as.groups.length > 0 ? { 'Impersonate-Group': as.groups.join(', ') } : {}) }
    : {}
  const path = verb === 'create' ? listPath(kind, namespace) : objectPath(kind, namespace, name)
  const query = `dryRun=All&fieldManager=keelson-console${verb === 'delete' || verb === 'patch' ? '' : '&fieldValidation=Warn'}${verb === 'apply' ? '&force=true' : ''}`
  const started = performance.now()
  const request = send(`${path}?${query}`, {
    method: VERBS[verb],
    ...(verb === 'delete' ? {} : { body: verb === 'apply' ? JSON.stringify(draft) : draft }),
    ...(verb === 'apply' ? { type: 'application/apply-patch+yaml' } : verb === 'patch' ? { type: 'application/merge-patch+json' } : {}),
    headers: { 'Keelson-Explain': 'admission;details', ...impersonation },
  })
  let [result, error, headers]: [KubeObject | undefined, unknown, Headers | undefined] = [undefined, undefined, undefined]
  try {
    const response = await request
    headers = response.headers
    result = (await response.json()) as KubeObject
  } catch (failure) {
    error = failure
    headers = failure instanceof ApiError ? failure.headers : undefined
  }
  const explained = explanationOf(headers)
  return {
    user: as.user || 'you',
    isAllowed: review ? review.status?.allowed === true : error === undefined,
    reason: review?.status?.reason ?? '',
    error,
    result,
    warnings: headers ? warningsOf(headers) : [],
    ...explained,
    sent: draft,
    ms: performance.now() - started,
  }
}

function explanationOf(headers: Headers | undefined): { steps: Step[]; note: string } {
  try {
    const all = JSON.parse(headers?.get('Keelson-Explain') ?? '[]') as Step[]
    const problem = all.find(step => step['error'])
    return { steps: all.filter(step => !step['error']), note: problem?.['error'] ?? '' }
  } catch {
    return { steps: [], note: '' }
  }
}

function OutcomeView({ outcome, verb }: { outcome: Outcome; verb: Verb }) {
  const { user, isAllowed, reason, error, result, warnings, steps, note, sent } = outcome
  const refusing = steps.find(({ outcome }) => outcome === 'rejected' || outcome === 'failed')
  const binding = /(?:ClusterRoleBinding|RoleBinding) "[^"]+"/.exec(reason)?.[0]
  return (
    <>
      {error ? (
        <Notice
          tone="bad"
          title={
            !isAllowed
              ? `${user === 'you' ? 'You are' : `${user} is`} not allowed to do this`
              : refusing
                ? `Refused by ${nameOf(refusing)}`
                : 'The server refuses this'
          }
        >
          <Causes error={error} />
        </Notice>
      ) : (
        <Notice tone="good" title="The server would accept this" />
      )}
      {warnings.map(text => (
        <Notice tone="warn" key={text}>
          {text}
        </Notice>
      ))}
      <Card title="Steps" isFlush>
        <ol class="waterfall">
          <li class="waterfall-step">
            <Badge tone={isAllowed ? 'good' : 'bad'}>{isAllowed ? 'allowed' : 'denied'}</Badge>
            <div class="grow">
              <b>Authorization</b>
              <div class="muted small wrap-anywhere">{reason || (isAllowed ? 'allowed without a reason' : 'no rule allows it')}</div>
              {binding && <div class="small">{binding}</div>}
            </div>
          </li>
          <Waterfall steps={steps} />
          {!error && (
            <li class="waterfall-step">
              <Badge tone="good">done</Badge>
              <b class="grow">{verb === 'delete' ? 'Would be deleted' : 'Would be stored'}</b>
            </li>
          )}
        </ol>
        {note && <p class="card-body faint small">Admission is not explained: {note}</p>}
      </Card>
      {result && verb !== 'delete' && (
        <Card title="What the server would store, compared with the manifest">
          <Diff label="Difference" before={sent} after={forPeople(result, { isStable: true })} />
        </Card>
      )}
    </>
  )
}

const nameOf = (step: Step): string =>
  step['policy'] ? `policy ${step['policy']}` : step['webhook'] ? `webhook ${step['webhook']}` : `plugin ${step['plugin']}`
