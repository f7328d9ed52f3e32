/** A log line for people: time, level, message, fields. External text cannot end the line or control the terminal. */
import type { Fields, Level } from './log.ts'

const COLOURS: Readonly<Record<string, string>> = { debug: '2', info: '36', warn: '33', error: '31' }

export function textLine(
  level: Exclude<Level, 'silent'>,
  fields: Fields,
  message: string,
  { now, colours }: { now: Date; colours: boolean },
): string {
  const paint = (text: string, code: string | undefined) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text)
  const time = now.toISOString().slice(11, 23)
  const shown = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${paint(`${name}=`, '2')}${valueText(value)}`],
  )
  return `${[paint(time, '2'), paint(level.toUpperCase().padEnd(5), COLOURS[level]), plainText(message), ...shown].join(' ')}\n`
}

/** Plain words unchanged, everything else as JSON. */
function valueText(value: NonNullable<Fields[string]>): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[\w./:@%+,[\]{}-]+$/.test(text) ? text : plainText(JSON.stringify(value))
}

/** Escapes characters that terminals interpret. */
const plainText = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, character => `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`)
