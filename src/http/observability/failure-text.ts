/** Failures as a log may show them: logs are read by more people than objects, and what objects hold may be a secret. */
import { truncate } from '../../lib/truncate.ts'
import { StatusError } from '../../schema/status-error.ts'

const MAX_TEXT = 1000

/**
 * A failure without anything that users, policies or webhooks wrote: refusals by reason and object, as their messages quote values;
 * others as they are, but for the text that a parser stumbled over.
 */
export function failureText(error: unknown): string {
  if (error instanceof StatusError) return `${error.reason || 'refused'} (${error.code})${objectOf(error)}`
  if (!(error instanceof Error)) return withoutQuoted(String(error))
  const { name, message } = error
  return name === 'SyntaxError' || name === 'JsonError' ? name : truncate(`${name}: ${message}`, MAX_TEXT)
}

/** The same, with where it happened. */
export function failureStack(error: unknown): string {
  const frames = error instanceof Error ? (error.stack ?? '').split('\n').filter(line => /^\s+at /.test(line)) : []
  return [failureText(error), ...frames].join('\n')
}

/** A text with what it quotes left out: answers of webhooks are quoted in what is said of them. */
export const withoutQuoted = (text: string): string => truncate(text.replace(/"(?:[^"\\]|\\.)*"?/g, '"…"'), MAX_TEXT)

function objectOf({ details }: StatusError): string {
  const { group, kind, name } = details ?? {}
  if (kind === undefined) return ''
  return ` ${kind}${group ? `.${group}` : ''}${name === undefined ? '' : ` ${truncate(name, 253)}`}`
}
