/** Errors in a form that is safe to log: more people can read logs than objects, and objects may contain secrets. */
import { truncate } from '../../lib/truncate.ts'
import { StatusError } from '../../schema/status-error.ts'

const MAX_TEXT = 1000

/**
 * An error without anything that users, policies or webhooks wrote: refusals by reason and object, as their messages quote values; others
 * unchanged, except for the text that a parser failed at.
 */
export function failureText(error: unknown): string {
  if (error instanceof StatusError) return `${error.reason || 'refused'} (${error.code})${objectOf(error)}`
  if (!(error instanceof Error)) return withoutQuoted(String(error))
  const { name, message } = error
  return name === 'SyntaxError' || name === 'JsonError' ? name : truncate(`${name}: ${message}`, MAX_TEXT)
}

/** As failureText, with the stack. */
export function failureStack(error: unknown): string {
  const frames = error instanceof Error ? (error.stack ?? '').split('\n').filter(line => /^\s+at /.test(line)) : []
  return [failureText(error), ...frames].join('\n')
}

/** A message without its quoted parts, such as the responses of webhooks. */
export const withoutQuoted = (text: string): string => truncate(text.replace(/"(?:[^"\\]|\\.)*"?/g, '"…"'), MAX_TEXT)

function objectOf({ details }: StatusError): string {
  const { group, kind, name } = details ?? {}
  if (kind === undefined) return ''
  return ` ${kind}${group ? `.${group}` : ''}${name === undefined ? '' : ` ${truncate(name, 253)}`}`
}
