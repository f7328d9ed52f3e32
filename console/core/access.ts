/** The user's own permissions: buttons that may not be pressed are not offered. */
import { type ReadonlySignal, signal } from '@preact/signals'
import { send } from './api.ts'
import type { Kind } from './discovery.ts'

export type Question =
  | {
      readonly verb: string
      readonly kind: Kind
      readonly namespace?: string | undefined
      readonly name?: string
      readonly subresource?: string
    }
  | { readonly verb: string; readonly path: string }

type Answer = { readonly allowed: boolean; readonly reason: string }

const KEPT_MS = 60_000
const answers = new Map<string, { readonly at: number; readonly answer: Promise<Answer> }>()

function attributesOf(question: Question): object {
  if ('path' in question) return { nonResourceAttributes: { verb: question.verb, path: question.path } }
  const { verb, kind, namespace, name, subresource } = question
  return {
    resourceAttributes: {
      verb,
      group: kind.group,
      version: kind.version,
      resource: kind.plural,
      ...(namespace ? { namespace } : {}),
      ...(name ? { name } : {}),
      ...(subresource ? { subresource } : {}),
    },
  }
}

/** Asks the server once a minute at most for each question. */
export function ask(question: Question): Promise<Answer> {
  const spec = attributesOf(question)
  const key = JSON.stringify(spec)
  const known = answers.get(key)
  if (known && Date.now() - known.at < KEPT_MS) return known.answer
  const answer = send('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    method: 'POST',
    body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec },
  })
    .then(response => response.json())
    .then(({ status }) => ({ allowed: status.allowed === true, reason: String(status.reason ?? '') }))
    .catch(() => ({ allowed: false, reason: '' }))
  answers.set(key, { at: Date.now(), answer })
  return answer
}

const live = new Map<string, ReturnType<typeof signal<boolean>>>()

/** Whether the user may, as a signal: false until the server has answered. */
export function may(question: Question): ReadonlySignal<boolean> {
  const key = JSON.stringify(attributesOf(question))
  const known = live.get(key)
  const answer = known ?? signal(false)
  if (!known) live.set(key, answer)
  void ask(question).then(({ allowed }) => {
    answer.value = allowed
  })
  return answer as ReadonlySignal<boolean>
}

/** Another user has other permissions. */
export function forgetAccess(): void {
  answers.clear()
  live.clear()
}
