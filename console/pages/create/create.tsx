/** A new object, from a template that its schema gives. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { findKind, type Kind, listPath } from '../../core/discovery.ts'
import { namespace as current } from '../../core/namespace.ts'
import { loadSchema, templateOf } from '../../core/openapi.ts'
import { groupFromPath, navigate, query, toList, toObject } from '../../core/router.ts'
import { toast } from '../../core/toasts.ts'
import { yamlText } from '../../core/yaml-lines.ts'
import { Spinner, useAsync } from '../../parts/basics.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { EditorLoading, useEditor } from '../../parts/editor/lazy.tsx'
import { checker, marksOf } from '../../parts/editor/validation.ts'
import { pluralTitle } from '../../parts/frame.tsx'
import type { PageProps } from '../index.ts'
import { UnknownKind } from '../list/list.tsx'
import { Review } from '../object/review.tsx'
import { Verdicts } from '../object/verdicts.tsx'

export default function CreatePage({ params }: PageProps) {
  const group = groupFromPath(params['group']!)
  const kind = findKind(group, params['plural']!, params['version'])
  if (!kind) return <UnknownKind name={params['plural']!} version={params['version']!} />
  return <Create kind={kind} />
}

function Create({ kind }: { kind: Kind }) {
  const namespace = query.value.get('ns') ?? current.value
  useCrumbs([{ text: pluralTitle(kind), to: toList(kind) }, { text: 'Create' }])
  const editor = useEditor()
  const { value: schema, isLoading } = useAsync(() => loadSchema(kind), [kind])
  const [source, setSource] = useState<{ readonly text: string } | undefined>(undefined)
  const [typed, setText] = useState<string | undefined>(undefined)
  const text = typed ?? source?.text
  const [isReviewing, setReviewing] = useState(false)
  const check = useMemo(checker, [])
  useEffect(() => {
    if (!isLoading && source === undefined) setSource({ text: yamlText(templateOf(kind, schema, namespace)) })
  }, [isLoading])
  const parsed = useMemo(() => (text === undefined ? undefined : editor?.parseYaml(text)), [editor, text])
  const path = listPath(kind, parsed?.value?.metadata?.namespace ?? (kind.namespaced ? namespace || 'default' : undefined))
  useEffect(() => {
    check.check(parsed && parsed.problems.length === 0 ? { path, method: 'POST', body: parsed.value } : undefined)
  }, [parsed])
  useEffect(() => check.stop, [])
  const verdict = check.verdict.value
  const marks = useMemo(() => {
    if (!parsed || !editor) return []
    return parsed.problems.length > 0 ? parsed.problems : verdict.state === 'invalid' ? marksOf(parsed, verdict.causes, editor.spanOf) : []
  }, [parsed, verdict])
  if (source === undefined || text === undefined)
    return (
      <div class="page">
        <Spinner />
      </div>
    )
  const canReview = parsed !== undefined && parsed.problems.length === 0
  return (
    <div class="page">
      <div class="page-head">
        <div>
          <div class="muted small">{kind.group === '' ? kind.version : `${kind.group}/${kind.version}`}</div>
          <h1>Create {kind.kind}</h1>
        </div>
        <div class="page-actions">
          <button type="button" class="button button-primary" disabled={!canReview} onClick={() => setReviewing(true)}>
            Review and create
          </button>
        </div>
      </div>
      <div class="stack">
        <div class="editor-bar">
          <Verdicts verdict={verdict} problems={parsed?.problems ?? []} text={text} />
        </div>
        {editor ? (
          <div class="editor-box">
            <editor.CodeEditor
              label={`YAML of a new ${kind.kind}`}
              source={source}
              schema={schema}
              marks={marks}
              onChange={setText}
              onSave={() => canReview && setReviewing(true)}
            />
          </div>
        ) : (
          <EditorLoading />
        )}
      </div>
      {isReviewing && parsed && (
        <Review
          title={`Create ${kind.kind} ${parsed.value?.metadata?.name ?? ''}`}
          path={path}
          draft={parsed.value}
          onClose={() => setReviewing(false)}
          onSaved={({ metadata }) => {
            toast(`Created ${metadata.name}`)
            void navigate(toObject(kind, metadata.namespace, metadata.name))
          }}
        />
      )}
    </div>
  )
}
