"""What WhatsApp writes into a chat itself: notices, marks and names of pictures, by language."""

import re

from engine.ingest.chat_lines import strip_marks

_OWN_MARK = "\u200e"  # iOS puts it before what it wrote itself
# "<attached: a.jpg>", also after a caption, or "a.jpg (file attached)" before one.
ATTACHED = re.compile(r"<[^<>:\n]+: ([^<>\n]+\.\w{2,5})>|\A(\S[^\n]*?\.\w{2,5}) \([^()\n]+\)")
LEFT_OUT = re.compile(
    r"<[^<>\n]+>"  # Android, in any language
    r"|[^\n]{0,40}\b(?:omitted|omitid[oa]|ocultad[oa]|weggelassen|omess[oa]|omise?|omitit[oa]"
    r"|weggelaten|dahil edilmedi)\.?",
    re.IGNORECASE,
)
# Polls, places and events, which iOS writes under a label: "POLL:", "Location: https://...".
_LABELLED = re.compile(r"\w[\w ]{0,24}:\s")
EDITED = re.compile(
    "(?<!\\s)\\s+(?:\u200e<[^<>:\\n]+>|<[^<>:\\n]*"
    "(?:edited|edit[oóaá]|editad|bearbeitet|modifi|bewerkt|düzenle|измен|редактир|编辑|編輯|編集"
    "|수정|diedit|chỉnh sửa|edytow|rediger|muokat|संपादित|تعديل|επεξεργ|szerkeszt|נערכה)"
    "[^<>:\\n]*>)$",
    re.IGNORECASE,
)
# What WhatsApp writes in a person's place, as whole messages.
_DELETED = re.compile(
    r"(?:this message was deleted|you deleted this message|null|waiting for this message.*"
    r"|se eliminó este mensaje|este mensaje fue eliminado|eliminaste este mensaje"
    r"|diese nachricht wurde gelöscht|du hast diese nachricht gelöscht"
    r"|ce message a été supprimé|vous avez supprimé ce message"
    r"|questo messaggio è stato eliminato|hai eliminato questo messaggio"
    r"|(?:essa |esta )?mensagem (?:foi )?apagada|você apagou esta mensagem|apagou esta mensagem"
    r"|dit bericht is verwijderd|(?:u hebt|je hebt) dit bericht verwijderd"
    r"|bu mesaj silindi|bu mesajı sildiniz|(?:данное )?сообщение удалено"
    r"|вы удалили (?:данное|это) сообщение"
    r"|此消息已被?(?:删除|撤回)|你(?:删除|撤回)了(?:此|一条)消息"
    r"|(?:已刪除此訊息|此訊息已(?:被)?刪除|你已刪除此訊息)"
    r"|このメッセージは削除されました"
    r"|(?:이 메시지는 )?삭제(?:된 메시지입니다|되었습니다|했습니다)"
    r"|تم حذف هذه الرسالة|لقد حذفت هذه الرسالة"
    r"|pesan ini (?:telah )?dihapus|anda (?:telah )?menghapus pesan ini"
    r"|tin nhắn này đã bị xóa|bạn đã xóa tin nhắn này|ta wiadomość została usunięta"
    r"|ezt az üzenetet törölték|αυτό το μήνυμα διαγράφηκε|detta meddelande raderades"
    r"|(?:यह|आपने यह) मैसेज (?:डिलीट|मिटा).*|הודעה זו נמחקה|מחקת הודעה זו)[.。]?",
    re.IGNORECASE,
)
_ENCRYPTED = re.compile(
    r"end-to-end|extremo a extremo|ende-zu-ende|bout en bout|ponta a ponta|uçtan uca"
    r"|端到端|端對端|сквозн|종단|エンドツーエンド|تام بين الطرفين"
    r"|mã hóa đầu cuối|végpontok közötti|από άκρο σε άκρο",
    re.IGNORECASE,
)
# What a notice says that somebody did, after the name.
_DID = re.compile(
    r"(?:created|changed|added|left|removed|joined|pinned|turned o|started|deleted|was added|is now"
    r"|creó|cambió|añadió|agregó|salió|eliminó|se unió|fijó|activó|desactivó"
    r"|hat (?:die|das|den|dich|eine)|ist (?:beigetreten|der)|wurde"
    r"|a (?:créé|changé|modifié|ajouté|quitté|rejoint|supprimé)"
    r"|ha (?:creato|cambiato|aggiunto|rimosso|abbandonato|modificato)"
    r"|criou|mudou|alterou|adicionou|saiu|entrou|removeu|heeft|grubu|создал|изменил|добавил"
    r"|вышел|покинул)\b",
    re.IGNORECASE,
)
_QUOTE_SIGNS = frozenset('"“”„«»‘’「」『』')


def is_notice(text: str, author: str) -> bool:
    """Tell what WhatsApp wrote in a person's name from what the person wrote."""
    bare = strip_marks(text).strip()
    if _DELETED.fullmatch(bare) or (
        bare.startswith(f"{author} ") and _DID.match(bare, len(author) + 1)
    ):
        return True
    if not text.startswith(_OWN_MARK):
        return bool(_ENCRYPTED.search(bare)) and "WhatsApp" in bare
    return not (ATTACHED.search(bare) or LEFT_OUT.fullmatch(bare) or _LABELLED.match(bare))


def tells_what_was_done(author: str) -> bool:
    """Tell a notice with a colon in it ("Ana created group “Sailing: summer”") from a name."""
    if not _QUOTE_SIGNS.isdisjoint(author) and len(author.split()) > 2:
        return True
    _name, _, rest = author.partition(" ")
    words = rest.split()
    return len(words) > 1 and any(
        _DID.match(" ".join(words[n:])) for n in range(min(len(words), 3))
    )
