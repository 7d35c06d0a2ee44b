import { type ArgumentMetadata, BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';

/** Lets a text through, without the blanks around it, and answers 400 where there is none. */
@Injectable()
export class RequiredTextPipe implements PipeTransform<unknown, string> {
  transform(value: unknown, { data }: ArgumentMetadata): string {
    const text = typeof value === 'string' ? value.trim() : '';
    if (text === '') throw new BadRequestException(`${data ?? 'The body'} must be a text that is not empty.`);
    return text;
  }
}
