"""What people say to each other in groups, for the bot to leave alone."""

ENGLISH = """\
Good morning everyone, did you all sleep well
The meeting has been moved to three tomorrow
Let's order pizza for lunch today
My train is delayed again, typical
Don't forget to bring the documents tomorrow
We should talk about the budget on Monday
That was the best match I have seen in years
I think we need to buy more milk
Could you send me the link again please
Does this work on your phone as well
The wifi is down again, is it just me
I'm stuck in traffic, be there in twenty
Mum says dinner is ready in five minutes
That joke was terrible and I loved it
Good luck with the exam tomorrow, you will be fine
The dog ate my homework, for real this time
We are almost there, save us a seat
Who left the window open last night
Looks good to me, ship it
I just read that article, it is really long
call me when you get home
the new guy starts on monday right
cool, then I'll bring the drinks
that movie was way too long
it's raining again, of course
Morning all, coffee machine is fixed
Lost my umbrella, has anybody picked it up
Weather looks awful for Saturday, maybe we cancel
Grandma made cake, come over whenever
Someone parked in my spot again
The soup was amazing, send me the recipe
Two tickets left for the concert, who wants one
Did the plumber ever call back
Table for eight booked at the Italian place
Anna says she left her jacket in your car
Pick up some bread on your way home
Tom will bring the speakers, I bring the snacks
We are out of toilet paper at the office
The code review took longer than expected
"""

SPANISH = """\
Buen día a todos, cómo amanecieron
La reunión se pasó para mañana a las tres
Pidamos unas pizzas para el almuerzo
Mi tren está demorado otra vez, como siempre
No se olviden de traer los papeles mañana
Tendríamos que hablar del presupuesto el lunes
Fue el mejor partido que vi en años
Creo que hay que comprar más leche
Me pasarías el link de nuevo porfa
A vos te funciona en el teléfono
Se cayó el wifi otra vez, o soy yo solo
Estoy trabado en el tránsito, llego en veinte
Dice mamá que la comida está en cinco minutos
El chiste era malísimo y me encantó
Suerte en el examen mañana, te va a ir bien
El perro me comió la tarea, en serio
Ya casi llegamos, guárdennos un lugar
Quién dejó la ventana abierta anoche
A mí me parece bien, subilo
Recién leí esa nota, es larguísima
llamame cuando llegues a casa
almuerzo a la una donde siempre
me quedo sin batería, hablamos después
acá igual, está así desde la mañana
hoy no llego, lo vemos mañana
Buenas, arreglaron la cafetera
Perdí el paraguas, alguien lo agarró
El sábado parece que llueve, capaz cancelamos
La abuela hizo torta, vengan cuando quieran
Otra vez me estacionaron en la puerta
La sopa estaba buenísima, pasame la receta
Sobran dos entradas para el recital, quién quiere
Al final llamó el plomero o no
Reservé mesa para ocho en el italiano
Dice Ana que se dejó la campera en tu auto
Compren pan cuando vuelvan para casa
Tomás lleva los parlantes y yo la picada
No hay más papel higiénico en la oficina
La revisión tardó más de lo que pensaba
"""


def lines(text: str) -> list[str]:
    return text.splitlines()
