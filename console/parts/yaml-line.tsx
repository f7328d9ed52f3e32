/** A line of YAML with its colours: key, and kind of value. */

export function YamlText({ text }: { text: string }) {
  const [, lead = '', key, value = ''] = /^(\s*(?:- )*)((?:"[^"]*"|'[^']*'|[^\s:"'][^:]*):(?=\s|$))?(.*)$/.exec(text) ?? []
  return (
    <>
      {lead}
      {key !== undefined && <span class="y-key">{key}</span>}
      {value !== '' && <span class={classOf(value.trim())}>{value}</span>}
    </>
  )
}

function classOf(value: string): string {
  if (/^-?\d+(\.\d+)?$/.test(value)) return 'y-number'
  return /^(true|false|null|\{\}|\[\])$/.test(value) ? 'y-atom' : 'y-string'
}
