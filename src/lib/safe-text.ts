/** Random or hashed suffixes for names: no vowels, and no digits that look like letters, so that no words occur by chance. */
import { randomInt } from './environment.ts'

const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'

/** The same suffix for the same input. */
export const safeText = (text: string): string => Array.from(text, (_, i) => ALPHABET[text.charCodeAt(i) % ALPHABET.length]).join('')

/** The suffix added to `generateName`. */
export const randomSuffix = (): string => Array.from({ length: 5 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
